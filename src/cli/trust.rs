//! `prompt-expander trust`: manages the list of trusted repositories, whose `.prompts` are served
//! without `--project`.

use super::output::{self, Reporter, display_path};
use super::review::{self, Review, ReviewedText};
use super::source_options::{PromptSource, absolute};
use super::{config, path, settings_edits, user_folders};
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
    /// Trust the repository without asking
    #[arg(long)]
    yes: bool,
    /// Print one JSON object with `trusted`, the list of all repositories that you trust
    #[arg(long)]
    json: bool,
}

/// The folder that the command is about.
struct TrustTarget {
    /// A folder that contains `.prompts`, or the root of a repository.
    root: PathBuf,
    /// The main worktree of the repository, if `root` is a linked worktree and the main worktree is
    /// trusted. Then `root` is trusted, too.
    trusted_main: Option<PathBuf>,
}

impl TrustTarget {
    /// Returns the folder under which the texts that the user has reviewed are recorded.
    fn record_root(&self) -> &Path {
        self.trusted_main.as_ref().unwrap_or(&self.root)
    }

    /// Returns a review of the texts that the user hasn't been shown yet.
    fn review(&self, trust: &sources::Trust, view: &View, texts: &[ProjectText]) -> Review {
        let shown_texts = trust.shown_texts(self.record_root());
        let mut review = Review::default();
        for text in texts {
            if text.is_in(&shown_texts) {
                review.unchanged += 1;
                continue;
            }
            let old_text = trust.last_shown_text(self.record_root(), &text.path);
            add_to_review(&mut review, view, text, &old_text.unwrap_or_default());
        }
        review
    }
}

impl TrustCommand {
    pub(super) fn run(self, source: &mut PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let settings = config::path(&source.config)
            .context("no settings file is used; leave out --no-config")?;
        let mut trusted_roots = user_folders::trusted(&settings);
        if self.revoke {
            let success_note = self.revoke(source, &settings, &mut trusted_roots)?;
            reporter.note(&success_note);
        } else if !self.list {
            let success_note = self.grant(source, &settings, &mut trusted_roots, reporter)?;
            reporter.note(&success_note);
        }
        if self.json {
            return output::print_json(&json!({ "trusted": trusted_roots }));
        }
        if self.list {
            for root in &trusted_roots {
                path::print(Path::new(root))?;
            }
        }
        Ok(())
    }

    /// Revokes the trust in the innermost trusted root that contains the folder. Removes it from
    /// `trusted_roots` and from the settings file. Returns a success message.
    fn revoke(
        &self,
        source: &PromptSource,
        settings: &Path,
        trusted_roots: &mut Vec<String>,
    ) -> anyhow::Result<String> {
        let argument = self.folder();
        // The folder may have been deleted, so it can't always be canonicalized.
        let folder = fs::canonicalize(argument).unwrap_or_else(|_| absolute(argument));
        // Each matching root is an ancestor of the next longer one, so the longest is innermost.
        let innermost = trusted_roots
            .iter()
            .filter(|root| folder.starts_with(root))
            .max_by_key(|root| root.len());
        let Some(root) = innermost.cloned() else {
            bail!(
                "{} is not trusted; `prompt-expander trust --list` shows what is",
                display_path(&folder)
            );
        };
        trusted_roots.retain(|trusted| *trusted != root);
        settings_edits::set_trusted(settings, trusted_roots)?;
        let root = Path::new(&root);
        if let Some(trust) = &source.settings.trust {
            trust.forget(root);
        }
        Ok(format!(
            "{} is no longer trusted; agents stop using its prompts with the next message",
            display_path(root)
        ))
    }

    /// Trusts the folder after the user has reviewed its new texts, and records these texts as
    /// reviewed. Adds the folder to `trusted_roots` and to the settings file, unless it is already
    /// trusted. Returns the message to print.
    fn grant(
        &self,
        source: &mut PromptSource,
        settings: &Path,
        trusted_roots: &mut Vec<String>,
        reporter: &Reporter,
    ) -> anyhow::Result<String> {
        let target = self.target(trusted_roots)?;
        let root = &target.root;
        let root_string = root
            .to_str()
            .with_context(|| format!("{} is not UTF-8", display_path(root)))?;
        let trust = source
            .settings
            .trust
            .clone()
            .context("no settings file is used")?;
        let view = view_including_project(source, root);
        let mut prompts = view.list().found;
        prompts.retain(|found| found.layer.is_project());
        let texts = project_texts(root, &prompts);
        let review = target.review(&trust, &view, &texts);
        let is_listed = trusted_roots.iter().any(|trusted| trusted == root_string);
        let is_trusted = is_listed || target.trusted_main.is_some();
        let record_root = target.record_root();
        let is_up_to_date = is_trusted && review.is_empty();
        if is_up_to_date {
            return Ok(format!(
                "{} is already trusted, and has no new texts",
                display_path(root)
            ));
        }
        if !self.prompt_user_to_trust(root, &review, reporter)? {
            return Ok("nothing was changed".to_owned());
        }
        // Record the texts first: if this fails, the root must not become trusted.
        trust.record_shown(record_root, &texts)?;
        if !is_trusted {
            trusted_roots.push(root_string.to_owned());
            settings_edits::set_trusted(settings, trusted_roots)?;
        }
        Ok(format!(
            "trusted {}; agents use its prompts from the next message on",
            display_path(root)
        ))
    }

    /// Shows the new texts, unless `--json` is set, and asks whether to trust `root`. With `--yes`,
    /// doesn't ask. Returns whether the user agreed.
    fn prompt_user_to_trust(
        &self,
        root: &Path,
        review: &Review,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        let root = display_path(root);
        let question = format!("Trust {root}?");
        let has_texts = !review.is_empty() || review.unchanged > 0;
        if has_texts && !self.json {
            reporter.note(
                "agents in this repository will follow these texts, and whatever later commits put there",
            );
            return review.prompt_user_to_accept(&question, self.yes, "--yes", reporter);
        }
        if !has_texts {
            reporter.note(&format!("{root} has no prompts yet"));
        }
        Ok(self.yes || reporter.confirm(&question, &format!("trust {root}"))?)
    }

    /// Returns the folder on the command line, which defaults to the working directory.
    fn folder(&self) -> &Path {
        self.folder.as_deref().unwrap_or(Path::new("."))
    }

    /// Finds the folder to trust: the nearest ancestor of [`folder`](TrustCommand::folder) that
    /// contains `.prompts`, or else the root of the repository.
    ///
    /// # Errors
    /// Fails if the folder doesn't exist, or isn't in a git repository.
    fn target(&self, trusted_roots: &[String]) -> anyhow::Result<TrustTarget> {
        let argument = self.folder();
        let folder = fs::canonicalize(argument)
            .with_context(|| format!("{} cannot be found", display_path(argument)))?;
        let Some(repository) = repository_of(&folder, None) else {
            bail!(
                "{} is not in a git repository; --project serves the prompts in its {PROJECT_FOLDER} for one command",
                display_path(&folder)
            );
        };
        let folder_with_prompts = folder
            .ancestors()
            .take_while(|ancestor| ancestor.starts_with(&repository))
            .find(|ancestor| ancestor.join(PROJECT_FOLDER).exists());
        let root = folder_with_prompts.unwrap_or(&repository).to_owned();
        let trusted_main = main_repository(&root).filter(|main| {
            let mut trusted_roots = trusted_roots.iter();
            trusted_roots.any(|trusted| Path::new(trusted) == main)
        });
        Ok(TrustTarget { root, trusted_main })
    }
}

/// Returns a view that includes the prompts of the project at `root`, even if it isn't trusted.
/// Sets `--project` in `source` for that.
fn view_including_project(source: &mut PromptSource, root: &Path) -> View {
    source.project = true;
    source.library_at(root).view()
}

/// Adds a text of the project to the review. Its description includes which prompt it replaces.
fn add_to_review(review: &mut Review, view: &View, text: &ProjectText, old_text: &str) {
    let new_text = match std::str::from_utf8(&text.bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("(not a text: {} bytes)", text.bytes.len()),
    };
    let (name, description) = match &text.prompt {
        Some(prompt) => (prompt.name.as_str(), describe_with_replaced(prompt, view)),
        None => (
            text.path.as_str(),
            "a file that prompts include or attach".to_owned(),
        ),
    };
    review.add(&ReviewedText {
        name,
        description: &description,
        old_text,
        new_text: &new_text,
    });
}

/// Returns the description of a project's prompt, preceded by which prompt it replaces, if any:
/// `replaces your prompt; Deploy it`.
fn describe_with_replaced(prompt: &Found, view: &View) -> String {
    let description = review::describe(prompt);
    let candidates = view.get_all(&prompt.name);
    match candidates.iter().find(|other| !other.layer.is_project()) {
        None => description,
        Some(other) if other.layer == Layer::USER => format!("replaces your prompt; {description}"),
        Some(other) => format!("replaces the {} prompt; {description}", other.layer.name),
    }
}
