//! `prompt-expander new`: creates a prompt file.

use super::edit::{self, check_edited};
use super::output::{self, Reporter, full_path};
use super::path::{self, location};
use super::source_options::{PromptSource, absolute};
use super::stored::{self, NewText};
use super::test::{self, TestMode};
use super::text_editor::{self, EditorExit};
use super::{rm, stdin};
use crate::library::{
    Caller, Editor, Found, Layer, Library, PROJECT_FOLDER, create_prompt_file, create_with_folders,
    delete_if_unchanged,
};
use crate::prompt::{Diagnostic, Kind, MAX_FILE, Name, draft, draft_around, draft_tests};
use crate::whole_file::FileAccess;
use crate::wording::in_backticks;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;
use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander new standup --edit         create a prompt and write it
  pbpaste | prompt-expander new git/commit   create a prompt from the clipboard
  prompt-expander new --project deploy       create it in the project's folder
  prompt-expander new --test standup         create a file for its tests, too";

#[derive(Debug, Args)]
pub(super) struct New {
    /// What you will type after the colon: `standup`, `git/commit`
    name: String,
    /// What the prompt is for, in one line
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    description: Option<String>,
    /// Create the file in this folder; cannot be combined with --project
    ///
    /// By default, the file is created in the first --prompts folder or, without --prompts, in your
    /// own folder.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// Create the prompt on the team's server, which is set as `team` in the settings file; opens
    /// your editor first, unless you pipe in text
    #[arg(long, conflicts_with_all = ["dir", "empty", "test"])]
    team: bool,
    /// Open the file in your editor ($VISUAL or $EDITOR), and check it afterwards; if you don't
    /// change the sample text, the file is deleted
    #[arg(long)]
    edit: bool,
    /// Create the sample text even if another prompt has the same name
    #[arg(long)]
    empty: bool,
    /// Also create a test file, `NAME.test.txt`; if the prompt exists, create only the test file
    ///
    /// `prompt-expander test` runs the tests.
    #[arg(long)]
    test: bool,
    /// Print one JSON object with `path`, and with `tests` if you pass --test
    ///
    /// With --edit, the file is deleted if you don't change the sample text. The object then
    /// contains only `removed`.
    #[arg(long)]
    json: bool,
}

impl New {
    /// Creates the prompt on the team's server, in the user's store, or in a folder.
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let name = Name::for_new_file(&self.name).map_err(|error| anyhow!(error))?;
        let name = library.view().existing_lookalike_or(name);
        if self.team {
            let editor = library.editor_for_layer(Layer::TEAM, &Caller::local())?;
            return self.create_in_store(&editor, &name, reporter);
        }
        if source.has_store && self.dir.is_none() {
            let editor = library.editor_for_layer(Layer::USER, &Caller::local())?;
            return self.create_in_store(&editor, &name, reporter);
        }
        self.create_in_folder(source, &library, &name, reporter)
    }

    /// Creates a prompt in a store, i.e. not in a folder of this machine. Opens a template in the
    /// editor first.
    fn create_in_store(
        &self,
        editor: &Editor<'_>,
        name: &Name,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        if self.test {
            bail!(
                "--test needs a folder; write the test file there, and `prompt-expander store push` it"
            );
        }
        let draft = self.read_draft(name, reporter)?;
        let new = NewText {
            name,
            expected: None,
            text: &draft.text,
        };
        let path = if draft.is_template || self.edit {
            stored::edit(editor, new, reporter)?
        } else {
            Some(stored::write(editor, new, reporter)?)
        };
        // `None` if the user left the template unchanged.
        if let Some(path) = path {
            self.print_path("path", &path)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Creates a prompt file, and then opens it in the editor, or only checks it. If the prompt
    /// exists, --test creates only its test file.
    fn create_in_folder(
        &self,
        source: &PromptSource,
        library: &Library,
        name: &Name,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let project_option = source.project_option();
        let folder = self.target_folder(source, library)?;
        let folder_library = Library::named([folder.clone()]);
        let draft = self.read_draft(name, reporter)?;
        let edit_command = format!("prompt-expander edit {name}{project_option}");
        if draft.is_template && !self.empty {
            let existing = folder_library.view().get(name);
            if let Some(existing) = &existing
                && self.adds_only_tests()
            {
                return self.create_only_tests(existing, project_option, reporter);
            }
            // If the folder has the prompt, `create_prompt_file` fails below, and names the file.
            if existing.is_none() {
                check_name_is_free(library, name, &edit_command)?;
            }
        }
        let path = create_prompt_file(&folder, name, &draft.text)
            .map_err(|error| creation_error(error, &format!("`{edit_command}` opens it")))?;
        let is_served = is_served(library, name, &path);
        let new_file = NewFile {
            name,
            path,
            draft,
            library: if is_served { library } else { &folder_library },
            is_served,
            edit_command,
            reporter,
        };
        new_file.warn_of_location(&folder);
        if source.project {
            reporter.note_if_any(source.untrusted_hint());
        }
        if self.edit {
            self.edit_file(&new_file)
        } else {
            self.finish_file(&new_file)
        }
    }

    /// Returns whether the user only wants a test file if the prompt exists.
    fn adds_only_tests(&self) -> bool {
        self.test && self.description.is_none()
    }

    /// Returns the folder to create the file in.
    fn target_folder(&self, source: &PromptSource, library: &Library) -> anyhow::Result<PathBuf> {
        match &self.dir {
            Some(_) if source.project => {
                bail!("--dir and --project each choose a folder; leave out one of them")
            }
            Some(dir) => Ok(absolute(dir)),
            None => source.new_prompts_folder(library),
        }
    }

    /// Returns the text from standard input, with the description added. Returns a template if
    /// standard input is empty or a terminal.
    fn read_draft(&self, name: &Name, reporter: &Reporter) -> anyhow::Result<DraftText> {
        let mut piped = String::new();
        if !io::stdin().is_terminal() {
            piped = stdin::text(MAX_FILE, "a prompt file", reporter)?;
        }
        let description = self.description.as_deref();
        if piped.trim().is_empty() {
            return Ok(DraftText {
                text: draft(name, description),
                is_template: true,
            });
        }
        let text = draft_around(name, &piped, description)
            .map_err(|error| anyhow!("{}", error.in_file(Path::new("standard input"))))?;
        Ok(DraftText {
            text,
            is_template: false,
        })
    }

    /// Opens the new file in the user's editor, and checks it afterwards. Deletes a template that
    /// the user left unchanged.
    fn edit_file(&self, new_file: &NewFile<'_>) -> anyhow::Result<ExitCode> {
        let path = &new_file.path;
        let reporter = new_file.reporter;
        // Check the result only below: even if the editor failed, an unchanged template must be
        // deleted, or the path of the new file printed.
        let editor_exit = text_editor::open(path, reporter);
        if new_file.draft.is_template && delete_if_unchanged(path, &new_file.draft.text)? {
            return self.report_unchanged_template(path, editor_exit, reporter);
        }
        let tests_path = self.create_requested_tests(new_file);
        self.print_paths(&new_file.path, tests_path.as_deref())?;
        let editor_exit = editor_exit
            .with_context(|| format!("{} was created, but could not be opened", full_path(path)))?;
        let exit_code = check_edited(new_file.library, path, editor_exit, reporter)?;
        if exit_code == ExitCode::SUCCESS {
            new_file.note_usage();
        }
        Ok(exit_code)
    }

    /// Reports that an unchanged template was deleted.
    ///
    /// # Errors
    /// Fails if the editor failed.
    fn report_unchanged_template(
        &self,
        path: &Path,
        editor_exit: anyhow::Result<EditorExit>,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        if self.json {
            output::print_json(&json!({ "removed": path.display().to_string() }))?;
        }
        let file = full_path(path);
        editor_exit
            .and_then(|exit| exit.check())
            .with_context(|| format!("{file} is removed"))?;
        reporter.note(&format!(
            "the template was not changed, so {file} is removed; {}",
            text_editor::WAIT_HINT
        ));
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the path of a new file that isn't opened in the editor, and checks the file unless it
    /// is a template.
    fn finish_file(&self, new_file: &NewFile<'_>) -> anyhow::Result<ExitCode> {
        let tests_path = self.create_requested_tests(new_file);
        self.print_paths(&new_file.path, tests_path.as_deref())?;
        if new_file.draft.is_template {
            new_file.reporter.note(&format!(
                "the file is a template; write the prompt with `{}`",
                new_file.edit_command
            ));
            return Ok(ExitCode::SUCCESS);
        }
        let exit_code = edit::check(new_file.library, &new_file.path, new_file.reporter);
        if exit_code == ExitCode::SUCCESS {
            new_file.note_usage();
        }
        Ok(exit_code)
    }

    /// Creates the test file of the new prompt, if --test was passed. Only warns if that fails,
    /// because the prompt already exists. Returns the path of the test file.
    fn create_requested_tests(&self, new_file: &NewFile<'_>) -> Option<PathBuf> {
        if !self.test {
            return None;
        }
        match create_tests(&new_file.found()?) {
            Ok(tests_path) => Some(tests_path),
            Err(error) => {
                let message = format!("the prompt is created without tests: {error:#}");
                new_file.reporter.warn(&message);
                None
            }
        }
    }

    /// Prints the paths of the new files.
    fn print_paths(&self, path: &Path, tests_path: Option<&Path>) -> anyhow::Result<()> {
        if self.json {
            let mut created = json!({ "path": path.display().to_string() });
            if let Some(tests_path) = tests_path {
                created["tests"] = tests_path.display().to_string().into();
            }
            return output::print_json(&created);
        }
        path::print(path)?;
        if let Some(tests_path) = tests_path {
            path::print(tests_path)?;
        }
        Ok(())
    }

    /// Creates the test file of an existing prompt. `project_option` is ` --project` or empty, for
    /// the note.
    fn create_only_tests(
        &self,
        found: &Found,
        project_option: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let tests_path = create_tests(found)?;
        if self.edit {
            text_editor::open(&tests_path, reporter)?;
        }
        self.print_path("tests", &tests_path)?;
        reporter.note(&format!(
            "`prompt-expander test{project_option} {}` runs the tests",
            found.name
        ));
        Ok(ExitCode::SUCCESS)
    }

    /// Prints a path or, with --json, the object `{json_key: path}`.
    fn print_path(&self, json_key: &str, path: &Path) -> anyhow::Result<()> {
        if self.json {
            return output::print_json(&json!({ json_key: path.display().to_string() }));
        }
        path::print(path)
    }
}

/// The text of a new prompt.
struct DraftText {
    text: String,
    /// Whether the user still has to write the prompt.
    is_template: bool,
}

/// A prompt file that was just created.
struct NewFile<'l> {
    name: &'l Name,
    path: PathBuf,
    draft: DraftText,
    /// The user's library if it contains the file, otherwise a library of only the file's folder.
    library: &'l Library,
    /// Whether the user's library contains the file.
    is_served: bool,
    /// The command that opens the file, for messages.
    edit_command: String,
    reporter: &'l Reporter,
}

impl NewFile<'_> {
    /// Returns the new prompt, even if another one with the same name overrides it.
    fn found(&self) -> Option<Found> {
        let prompts = self.library.view().get_all(self.name);
        prompts.into_iter().find(|found| found.is_in(&self.path))
    }

    /// Warns if the folder of the file is not served. Otherwise, warns if the prompt overrides
    /// another one, or is overridden.
    fn warn_of_location(&self, folder: &Path) {
        if self.is_served {
            warn_of_same_name(self.library, self.name, &self.path, self.reporter);
        } else {
            warn_of_unserved(folder, self.reporter);
        }
    }

    /// Tells what to type in a chat, unless another prompt overrides the new one.
    fn note_usage(&self) {
        let NewFile {
            name, edit_command, ..
        } = self;
        let found = self.library.view().get(name);
        if self.is_served && found.is_some_and(|found| found.is_in(&self.path)) {
            self.reporter.note(&format!(
                "type `:{name} …` in a chat; `{edit_command}` opens the file"
            ));
        }
    }
}

/// Fails if another prompt has this name. One of the two would override the other, so the user
/// probably wants to edit a copy instead of creating a template.
fn check_name_is_free(library: &Library, name: &Name, edit_command: &str) -> anyhow::Result<()> {
    let Some(other) = library.view().get(name) else {
        return Ok(());
    };
    bail!(
        "{} already has the name {}; `{edit_command}` opens it or a copy, and --empty creates a template anyway",
        location(&other),
        in_backticks(name)
    )
}

/// Creates the test file of a prompt, which expects its current expansions. Returns the path.
fn create_tests(found: &Found) -> anyhow::Result<PathBuf> {
    let name = &found.name;
    let test_file = found
        .test_file()
        .filter(|test_file| !test_file.is_read_only)
        .with_context(|| format!("no test file is created for {}", in_backticks(name)))?;
    let prompt = found
        .prompt()
        .map_err(|diagnostic| anyhow!("no test file is created: {diagnostic}"))?;
    create_with_folders(&test_file.path, &draft_tests(&prompt), FileAccess::Shared).map_err(
        |error| {
            creation_error(
                error,
                &format!("`prompt-expander test {name}` runs its tests"),
            )
        },
    )?;
    // Writes the current expansion into the new file, whose example expects no text yet.
    test::run_tests(&test_file, TestMode::Update).map_err(|diagnostic| anyhow!("{diagnostic}"))?;
    Ok(test_file.path)
}

/// Converts the error of creating a file. If the file exists, appends a hint on what to do with it.
fn creation_error(error: Diagnostic, hint_if_exists: &str) -> anyhow::Error {
    if error.kind == Kind::AlreadyExists {
        return anyhow!("{}; {hint_if_exists}", error.message);
    }
    anyhow!("{error}")
}

/// Returns whether a library contains the prompt in this new file, even if another one overrides
/// it.
pub(super) fn is_served(library: &Library, name: &Name, file: &Path) -> bool {
    let mut prompts = library.view().get_all(name).into_iter();
    prompts.any(|found| found.is_in(file))
}

/// Warns if the prompt in a new file overrides another one, or is overridden.
pub(super) fn warn_of_same_name(library: &Library, name: &Name, file: &Path, reporter: &Reporter) {
    // In order of precedence.
    let prompts = library.view().get_all(name);
    let Some(rank) = prompts.iter().position(|found| found.is_in(file)) else {
        return;
    };
    if rank > 0 {
        reporter.warn(&format!(
            "{} is used instead of the new file; choose another name",
            location(&prompts[0])
        ));
    } else if let Some(other) = prompts.get(1) {
        let remove_command = rm::command(&prompts[0]);
        reporter.warn(&format!(
            "`:{name}` now replaces {}; `{remove_command}` brings that back",
            location(other)
        ));
    }
}

/// Warns that prompts in a folder are not served, and tells how to change that.
pub(super) fn warn_of_unserved(folder: &Path, reporter: &Reporter) {
    let is_project_folder = folder.file_name() == Some(OsStr::new(PROJECT_FOLDER));
    let fix = if is_project_folder {
        "run `prompt-expander trust`"
    } else {
        "add it to `prompts` in config.toml"
    };
    reporter.warn(&format!("{} is not served; {fix}", full_path(folder)));
}
