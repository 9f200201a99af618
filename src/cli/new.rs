//! `prompt-expander new`: creates a prompt file.

use super::history::editor;
use super::output::{self, Reporter, full_path};
use super::source::{PromptSource, absolute};
use super::{edit, path, stdin, stored, test, text_editor};
use crate::library::{
    Caller, Editor, Found, Layer, Library, PROJECT_FOLDER, create_prompt_file, create_with_folders,
    delete_unchanged,
};
use crate::prompt::{Kind, MAX_FILE, Name, draft, draft_around, draft_tests};
use crate::whole_file::FileAccess;
use crate::wording::named;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;
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
    /// What you will type after a colon: `standup`, `git/commit`
    name: String,
    /// What the prompt is for, in one line
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    description: Option<String>,
    /// Create the file in this folder, instead of the first --prompts folder or, without one, your
    /// own folder; cannot be combined with --project
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    dir: Option<PathBuf>,
    /// Create the prompt on the team's server (see `team` in the settings file); without text from
    /// a pipe, opens your editor first
    #[arg(long, conflicts_with_all = ["dir", "empty", "test"])]
    team: bool,
    /// Open the file in your editor ($VISUAL or $EDITOR), and check it afterwards; a template that
    /// you leave unchanged is removed
    #[arg(long)]
    edit: bool,
    /// Create a template even if another prompt has the same name
    #[arg(long)]
    empty: bool,
    /// Also create a file for its tests, `NAME.test.txt`; if the prompt exists, only that file. See
    /// `prompt-expander test`
    #[arg(long)]
    test: bool,
    /// Print one JSON object: `path` and with --test `tests`, or `removed` for a template that you
    /// left unchanged
    #[arg(long)]
    json: bool,
}

impl New {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let name = Name::for_new_file(&self.name).map_err(|why| anyhow!(why))?;
        let name = library.view().stored_spelling(name);
        if self.team {
            return self.create_in_store(
                &library.editor_of(Layer::TEAM, &Caller::local())?,
                &name,
                reporter,
            );
        }
        if source.has_store && self.dir.is_none() {
            return self.create_in_store(&editor(&library, false)?, &name, reporter);
        }
        let folder = match &self.dir {
            Some(_) if source.project => {
                bail!("--dir and --project each choose a folder; leave out one of them")
            }
            Some(dir) => absolute(dir),
            None => source.folder_of_new(&library)?,
        };
        let own = Library::named([folder.clone()]);
        let (text, is_template) = self.text(&name, reporter)?;
        let edit_command = format!("prompt-expander edit {name}{}", source.project_option());
        if is_template && !self.empty {
            match (own.view().get(&name), library.view().get(&name)) {
                (Some(found), _) if self.test && self.description.is_none() => {
                    return self.create_tests_only(&found, source.project_option(), reporter);
                }
                // It would override another prompt or be overridden by one: what the user wants
                // then is a copy.
                (None, Some(other)) => bail!(
                    "{} already has the name {}; `{edit_command}` opens it or a copy, and --empty creates a template anyway",
                    what(&other),
                    named(&name)
                ),
                _ => {}
            }
        }
        let file = create_prompt_file(&folder, &name, &text).map_err(|error| match error.kind {
            Kind::Exists => anyhow!("{}; `{edit_command}` opens it", error.message),
            _ => anyhow!("{error}"),
        })?;
        let is_served = warn_of_the_same_name(&library, &name, &file, reporter);
        if !is_served {
            warn_of_unserved(&folder, reporter);
        }
        if source.project {
            reporter.note_if_any(source.untrusted_hint());
        }
        let ended = self
            .edit
            .then(|| text_editor::open(&file, reporter))
            .transpose();
        if self.edit && is_template && delete_unchanged(&file, &text)? {
            if self.json {
                output::print_json(&json!({ "removed": file.display().to_string() }))?;
            }
            let (file, wait) = (full_path(&file), text_editor::WAIT);
            let ended = ended.and_then(|ended| ended.map_or(Ok(()), |ended| ended.check()));
            ended.with_context(|| format!("{file} is removed"))?;
            reporter.note(&format!(
                "the template was not changed, so {file} is removed; {wait}"
            ));
            return Ok(ExitCode::SUCCESS);
        }
        let tests = own
            .view()
            .get(&name)
            .filter(|_| self.test)
            .map(|found| create_tests(&found))
            .transpose();
        let tests = tests.unwrap_or_else(|why| {
            reporter.warn(&format!("the prompt is created without tests: {why:#}"));
            None
        });
        if self.json {
            let mut created = json!({ "path": file.display().to_string() });
            if let Some(tests) = &tests {
                created["tests"] = tests.display().to_string().into();
            }
            output::print_json(&created)?;
        } else {
            path::print("", &file)?;
            tests.iter().try_for_each(|tests| path::print("", tests))?;
        }
        let is_used = library
            .view()
            .get(&name)
            .is_some_and(|found| found.is_in(&file));
        let ended = ended.with_context(|| {
            format!("{} was created, but could not be opened", full_path(&file))
        })?;
        let served = if is_served { &library } else { &own };
        let checked = match ended {
            Some(ended) => edit::checked(served, &file, ended, reporter)?,
            None if is_template => ExitCode::SUCCESS,
            None => edit::check(served, &file, reporter),
        };
        if is_template && !self.edit {
            reporter.note(&format!(
                "the file is a template; write the prompt with `{edit_command}`"
            ));
        } else if is_used && is_served && checked == ExitCode::SUCCESS {
            reporter.note(&format!(
                "type `:{name} …` in a chat; `{edit_command}` opens the file"
            ));
        }
        Ok(checked)
    }

    /// Creates a prompt that is in no folder of this machine. A template is edited first.
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
        let (text, is_template) = self.text(name, reporter)?;
        stored::write(
            editor,
            (name, None),
            &text,
            (is_template || self.edit, self.json),
            reporter,
        )
    }

    /// The text from a pipe, else a template; and whether it is one.
    fn text(&self, name: &Name, reporter: &Reporter) -> anyhow::Result<(String, bool)> {
        let piped = if io::stdin().is_terminal() {
            String::new()
        } else {
            stdin::text(MAX_FILE, "a prompt file", reporter)?
        };
        let description = self.description.as_deref();
        if piped.trim().is_empty() {
            return Ok((draft(name, description), true));
        }
        let text = draft_around(name, &piped, description);
        Ok((
            text.map_err(|error| anyhow!("{}", error.in_file(Path::new("standard input"))))?,
            false,
        ))
    }

    /// Creates the first tests of a prompt that exists.
    fn create_tests_only(
        &self,
        found: &Found,
        option: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let tests = create_tests(found)?;
        if self.edit {
            text_editor::open(&tests, reporter)?;
        }
        path::print_as("tests", &tests, self.json)?;
        reporter.note(&format!(
            "`prompt-expander test{option} {}` runs the tests",
            found.name
        ));
        Ok(ExitCode::SUCCESS)
    }
}

/// Creates the test file of a prompt, and returns its path.
fn create_tests(found: &Found) -> anyhow::Result<PathBuf> {
    let tests = found.test_file().filter(|tests| !tests.is_read_only);
    let tests =
        tests.with_context(|| format!("no test file is created for {}", named(&found.name)))?;
    let prompt = found
        .prompt()
        .map_err(|why| anyhow!("no test file is created: {why}"))?;
    create_with_folders(&tests.path, &draft_tests(&prompt), FileAccess::Shared).map_err(
        |error| match error.kind {
            Kind::Exists => anyhow!(
                "{}; `prompt-expander test {}` runs its tests",
                error.message,
                found.name
            ),
            _ => anyhow!("{error}"),
        },
    )?;
    test::run(&tests, true).map_err(|why| anyhow!("{why}"))?; // adds the text that is expected
    Ok(tests.path)
}

/// Warns of prompts that the new file overrides or that override it. Returns whether its folder is
/// part of the library.
pub(super) fn warn_of_the_same_name(
    library: &Library,
    name: &Name,
    file: &Path,
    reporter: &Reporter,
) -> bool {
    let all = library.view().all(name);
    let Some(place) = all.iter().position(|found| found.is_in(file)) else {
        return false;
    };
    if place > 0 {
        reporter.warn(&format!(
            "{} overrides the new file; choose another name",
            what(&all[0])
        ));
    } else if let Some(overridden) = all.get(1) {
        let overridden = what(overridden);
        reporter.warn(&format!(
            "the new file overrides {overridden}; delete the new file to restore that prompt"
        ));
    }
    true
}

pub(super) fn warn_of_unserved(folder: &Path, reporter: &Reporter) {
    let is_project = folder
        .file_name()
        .is_some_and(|folder| folder == PROJECT_FOLDER);
    let fix = if is_project {
        "run `prompt-expander trust`"
    } else {
        "add it to `prompts` in config.toml"
    };
    reporter.warn(&format!("{} is not served; {fix}", full_path(folder)));
}

fn what(found: &Found) -> String {
    let place = found.place();
    place.file.map_or_else(
        || format!("the {} prompt", found.layer.name),
        |file| full_path(&file),
    )
}
