//! `prompt-expander trust`: whose `.prompts` are served without an option.

use super::output::{self, Reporter, shown};
use super::review::{self, Review, ReviewedText};
use super::source_options::{PromptSource, absolute};
use super::{config, path, user_folders};
use crate::library::{Found, Layer, PROJECT_FOLDER, ProjectText, View, repository_of};
use crate::sources::{self, main_repository, project_texts};
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
pub(super) struct TrustCommand {
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
struct TrustTarget {
    root: PathBuf,
    /// The trusted repository of which it is a linked worktree.
    main: Option<PathBuf>,
}

impl TrustTarget {
    /// Returns the root under which the shown texts are recorded.
    fn repository(&self) -> &Path {
        self.main.as_ref().unwrap_or(&self.root)
    }

    /// Returns the texts that the user was not shown yet, to review them.
    fn review(&self, trust: &sources::Trust, view: &View, texts: &[ProjectText]) -> Review {
        let shown_texts = trust.shown_texts(self.repository());
        let mut review = Review::default();
        for text in texts {
            if text.is_in(&shown_texts) {
                review.unchanged += 1;
                continue;
            }
            let before = trust.last_shown_text(self.repository(), &text.path);
            add_to_review(&mut review, view, text, &before.unwrap_or_default());
        }
        review
    }
}

impl TrustCommand {
    pub(super) fn run(self, source: &mut PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let settings = config::path(&source.config)
            .context("no settings file is used; leave out --no-config")?;
        let mut trusted = user_folders::trusted(&settings);
        if self.revoke {
            let success = self.revoke(source, &settings, &mut trusted)?;
            reporter.note(&success);
        } else if !self.list {
            let success = self.grant(source, &settings, &mut trusted, reporter)?;
            reporter.note(&success);
        }
        if self.json {
            return output::print_json(&json!({ "trusted": trusted }));
        }
        if self.list {
            for root in &trusted {
                path::print(Path::new(root))?;
            }
        }
        Ok(())
    }

    /// Stops trusting the innermost trusted folder that the folder is in. Returns what to tell the
    /// user.
    fn revoke(
        &self,
        source: &PromptSource,
        settings: &Path,
        trusted: &mut Vec<String>,
    ) -> anyhow::Result<String> {
        let named = self.folder();
        let folder = fs::canonicalize(named).unwrap_or_else(|_| absolute(named)); // it may be gone
        let innermost = trusted
            .iter()
            .filter(|root| folder.starts_with(root))
            .max_by_key(|root| root.len());
        let Some(root) = innermost.cloned() else {
            bail!(
                "{} is not trusted; `prompt-expander trust --list` shows what is",
                shown(&folder)
            );
        };
        trusted.retain(|known| *known != root);
        config::set_trusted(settings, trusted)?;
        let root = Path::new(&root);
        if let Some(trust) = &source.settings.trust {
            trust.forget(root);
        }
        Ok(format!(
            "{} is no longer trusted; agents stop using its prompts with the next message",
            shown(root)
        ))
    }

    /// Shows each text that was not shown yet, asks, and records the texts. Returns what to tell
    /// the user.
    fn grant(
        &self,
        source: &mut PromptSource,
        settings: &Path,
        trusted: &mut Vec<String>,
        reporter: &Reporter,
    ) -> anyhow::Result<String> {
        let target = self.target(trusted)?;
        let root = &target.root;
        let root_text = root
            .to_str()
            .with_context(|| format!("{} is not UTF-8", shown(root)))?;
        let trust = source
            .settings
            .trust
            .clone()
            .context("no settings file is used")?;
        source.project = true;
        let view = source.library_at(Some(root)).view();
        let mut prompts = view.list().found;
        prompts.retain(|found| found.layer.is_project());
        let texts = project_texts(root, &prompts);
        let review = target.review(&trust, &view, &texts);
        let is_trusted = target.main.is_some() || trusted.iter().any(|known| known == root_text);
        let repository = target.repository();
        if is_trusted && review.is_empty() && trust.shown_texts(repository).was_recorded {
            return Ok(format!(
                "{} is already trusted, and has no new texts",
                shown(root)
            ));
        }
        if !self.is_accepted(&review, root, reporter)? {
            return Ok("nothing was changed".to_owned());
        }
        trust.record_shown(repository, &texts)?;
        if !is_trusted {
            trusted.push(root_text.to_owned());
            config::set_trusted(settings, trusted)?;
        }
        Ok(format!(
            "trusted {}; agents use its prompts from the next message on",
            shown(root)
        ))
    }

    /// Shows the texts to people, and asks unless --yes is given. Returns whether the user agrees.
    fn is_accepted(
        &self,
        review: &Review,
        root: &Path,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        let root = shown(root);
        let question = format!("Trust {root}?");
        let has_texts = !review.is_empty() || review.unchanged > 0;
        if has_texts && !self.json {
            reporter.note(
                "agents in this repository will follow these texts, and whatever later commits put there",
            );
            return review.is_accepted(&question, self.yes, "--yes", reporter);
        }
        if !has_texts {
            reporter.note(&format!("{root} has no prompts yet"));
        }
        Ok(self.yes || reporter.confirm(&question, &format!("trust {root}"))?)
    }

    fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("."))
    }

    /// Returns the nearest folder with prompts up to the root of the repository, else that root.
    ///
    /// # Errors
    /// The folder does not exist, or is in no git repository.
    fn target(&self, trusted: &[String]) -> anyhow::Result<TrustTarget> {
        let named = self.folder();
        let folder =
            fs::canonicalize(named).with_context(|| format!("{} cannot be found", shown(named)))?;
        let Some(repository) = repository_of(&folder, None) else {
            bail!(
                "{} is not in a git repository; --project serves the prompts in its {PROJECT_FOLDER} for one command",
                shown(&folder)
            );
        };
        let with_prompts = folder
            .ancestors()
            .take_while(|above| above.starts_with(&repository))
            .find(|above| above.join(PROJECT_FOLDER).exists());
        let root = with_prompts.unwrap_or(&repository).to_owned();
        let main = main_repository(&root)
            .filter(|main| trusted.iter().any(|known| Path::new(known) == main));
        Ok(TrustTarget { root, main })
    }
}

/// Adds a text with what it is for, and which prompt it replaces.
fn add_to_review(review: &mut Review, view: &View, text: &ProjectText, before: &str) {
    let shown_text = match std::str::from_utf8(&text.bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("(not a text: {} bytes)", text.bytes.len()),
    };
    let (name, about) = match &text.prompt {
        Some(prompt) => (prompt.name.as_str(), about_with_replaced(prompt, view)),
        None => (
            text.path.as_str(),
            "a file that prompts include or attach".to_owned(),
        ),
    };
    review.add(&ReviewedText {
        name,
        about: &about,
        before,
        text: &shown_text,
    });
}

/// Returns the description of a prompt, after which prompt it replaces, if there is one:
/// `replaces your prompt; Deploy it`.
fn about_with_replaced(prompt: &Found, view: &View) -> String {
    let about = review::about(prompt);
    let all = view.all(&prompt.name);
    match all.iter().find(|other| !other.layer.is_project()) {
        None => about,
        Some(other) if other.layer == Layer::USER => format!("replaces your prompt; {about}"),
        Some(other) => format!("replaces the {} prompt; {about}", other.layer.name),
    }
}
