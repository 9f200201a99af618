//! `prompt-expander trust`: whose `.prompts` are served without an option.

use super::output::{self, Reporter, full_path};
use super::review::{self, Review, ReviewedText};
use super::source::{PromptSource, absolute};
use super::{config, path, user_folders};
use crate::library::{Layer, PROJECT_FOLDER, ProjectText, View, repository_of};
use crate::sources::{main_repository, texts_of};
use crate::wording::count;
use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander trust            trust the repository that you are in
  prompt-expander trust --list
  prompt-expander trust --revoke ~/code/service";

#[derive(Debug, Args)]
pub(super) struct Trust {
    /// A folder in the repository; by default, the working directory
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath, conflicts_with = "list")]
    folder: Option<PathBuf>,
    /// List the repositories that you trust
    #[arg(long)]
    list: bool,
    /// Stop trusting the repository
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    /// Trust it without asking
    #[arg(long)]
    yes: bool,
    /// Print one JSON object: `trusted`, the list of all repositories that you trust
    #[arg(long)]
    json: bool,
}

/// What the user may trust: a folder with prompts, or the root of a repository.
struct Target {
    root: PathBuf,
    /// The trusted repository of which it is a linked worktree.
    main: Option<PathBuf>,
}

impl Trust {
    pub(super) fn run(self, source: &mut PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let settings = config::path(&source.config)
            .context("no settings file is used; leave out --no-config")?;
        let mut trusted = user_folders::trusted(&settings);
        let result = if self.list {
            String::new()
        } else if self.revoke {
            self.revoke(source, &settings, &mut trusted)?
        } else {
            self.grant(source, &settings, &mut trusted, reporter)?
        };
        if self.json {
            return output::print_json(&json!({ "trusted": trusted }));
        }
        if self.list {
            return trusted
                .iter()
                .try_for_each(|root| path::print("", Path::new(root)));
        }
        reporter.note(&result);
        Ok(())
    }

    /// Stops trusting the innermost of the trusted folders that the folder is in. Returns what to
    /// tell the user.
    fn revoke(
        &self,
        source: &PromptSource,
        settings: &Path,
        trusted: &mut Vec<String>,
    ) -> anyhow::Result<String> {
        let named = self.folder();
        let folder = fs::canonicalize(named).unwrap_or_else(|_| absolute(named)); // it may be gone
        let root = trusted
            .iter()
            .filter(|root| folder.starts_with(root))
            .max_by_key(|root| root.len())
            .cloned();
        let Some(root) = root else {
            bail!(
                "{} is not trusted; `prompt-expander trust --list` shows what is",
                full_path(&folder)
            );
        };
        trusted.retain(|known| *known != root);
        config::set_trusted(settings, trusted)?;
        if let Some(trust) = &source.settings.trust {
            trust.forget(Path::new(&root));
        }
        Ok(written(settings))
    }

    /// Shows each text that was not shown yet, asks, and keeps the texts. Returns what to tell
    /// the user.
    fn grant(
        &self,
        source: &mut PromptSource,
        settings: &Path,
        trusted: &mut Vec<String>,
        reporter: &Reporter,
    ) -> anyhow::Result<String> {
        let Target { root, main } = self.target(trusted)?;
        let shown_root = main.as_ref().unwrap_or(&root);
        let root_text = root
            .to_str()
            .with_context(|| format!("{} is not UTF-8", full_path(&root)))?;
        let trust = source
            .settings
            .trust
            .clone()
            .context("no settings file is used")?;
        source.project = true;
        let view = source.library_at(Some(&root)).view();
        let mut prompts = view.list().found;
        prompts.retain(|found| found.layer.is_project());
        let texts = texts_of(&root, &prompts);
        let shown = trust.shown_of(shown_root);
        let is_trusted = main.is_some() || trusted.iter().any(|known| known == root_text);
        let (known, new): (Vec<_>, Vec<_>) = texts.iter().partition(|text| text.is_in(&shown));
        if is_trusted && new.is_empty() && shown.is_kept {
            return Ok(format!(
                "{} is already trusted, and you were shown all its texts; --revoke stops trusting it",
                full_path(&root)
            ));
        }
        let mut review = Review::default();
        for text in &new {
            let before = trust.last_shown(shown_root, &text.path);
            add_to_review(&mut review, &view, text, &before.unwrap_or_default());
        }
        if !known.is_empty() {
            review.add_line(&format!("{} unchanged", count(known.len(), "text")));
        }
        if !self.is_accepted(&review, &root, reporter)? {
            return Ok("nothing is changed".to_owned());
        }
        trust.keep(shown_root, &texts)?;
        if !is_trusted {
            trusted.push(root_text.to_owned());
            config::set_trusted(settings, trusted)?;
        }
        Ok(written(settings))
    }

    fn is_accepted(
        &self,
        review: &Review,
        root: &Path,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        let root = full_path(root);
        let unseen = format!("trust {root}");
        let question = format!("Trust {root}?");
        if self.json {
            return Ok(self.yes || reporter.confirm(&question, &unseen)?);
        }
        if review.is_empty() {
            reporter.note(&format!("{root} has no prompts yet"));
            return Ok(self.yes || reporter.confirm(&question, &unseen)?);
        }
        reporter.note(&format!(
            "agents that work in {root} would get these prompts, and what a later pull brings, too"
        ));
        review.is_accepted(&question, self.yes, &unseen, reporter)
    }

    fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("."))
    }

    /// Returns the nearest folder with prompts up to the root of the repository, else that root.
    fn target(&self, trusted: &[String]) -> anyhow::Result<Target> {
        let named = self.folder();
        let folder = fs::canonicalize(named)
            .with_context(|| format!("{} cannot be found", full_path(named)))?;
        let Some(repository) = repository_of(&folder, None) else {
            bail!(
                "{} is not in a git repository; --project serves the prompts in its {PROJECT_FOLDER} for one command",
                full_path(&folder)
            );
        };
        let with_prompts = folder
            .ancestors()
            .take_while(|above| above.starts_with(&repository))
            .find(|above| above.join(PROJECT_FOLDER).exists());
        let root = with_prompts.unwrap_or(&repository).to_owned();
        let main = main_repository(&root)
            .filter(|main| trusted.iter().any(|known| Path::new(known) == main));
        Ok(Target { root, main })
    }
}

fn written(settings: &Path) -> String {
    format!(
        "written to {}; it takes effect with the next message",
        full_path(settings)
    )
}

/// Adds a text with what it is for, and which prompt it replaces.
fn add_to_review(review: &mut Review, view: &View, text: &ProjectText, before: &str) {
    let shown = match std::str::from_utf8(&text.bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("(not a text: {} bytes)", text.bytes.len()),
    };
    let Some(prompt) = &text.prompt else {
        return review.add(&ReviewedText {
            name: &text.path,
            about: "a file that prompts include or attach",
            before,
            text: &shown,
        });
    };
    let all = view.all(&prompt.name);
    let about = match all.iter().find(|other| !other.layer.is_project()) {
        None => review::about(prompt),
        Some(other) if other.layer == Layer::USER => {
            format!("replaces your prompt; {}", review::about(prompt))
        }
        Some(other) => {
            let layer = other.layer.name;
            format!("replaces the {layer} prompt; {}", review::about(prompt))
        }
    };
    review.add(&ReviewedText {
        name: &prompt.name,
        about: &about,
        before,
        text: &shown,
    });
}
