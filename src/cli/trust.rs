//! `prompt-expander trust`: whose `.prompts` are served without an option.

use super::output::{self, full_path};
use super::source::{PromptSource, absolute};
use super::{config, path, user_folders};
use crate::library::{Found, Layer, PROJECT_FOLDER, View};
use crate::wording::{count, named};
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

impl Trust {
    pub(super) fn run(self, source: PromptSource) -> anyhow::Result<()> {
        let file = config::path(&source.config)
            .context("no settings file is used; leave out --no-config")?;
        let mut trusted = user_folders::trusted(&file);
        let mut said = format!(
            "written to {}; it takes effect with the next message",
            full_path(&file)
        );
        if !self.list {
            let folder = self.folder.as_deref().unwrap_or(Path::new("."));
            // A folder whose trust is revoked may no longer exist.
            let real = fs::canonicalize(folder).or_else(|why| {
                if self.revoke {
                    Ok(absolute(folder))
                } else {
                    Err(why)
                }
            });
            let folder = real.with_context(|| format!("{} cannot be found", full_path(folder)))?;
            let root = folder
                .ancestors()
                .find(|folder| folder.join(".git").exists());
            let is_known = |known: &String| folder.starts_with(known);
            match (self.revoke, root) {
                (true, _) if !trusted.iter().any(is_known) => {
                    bail!(
                        "{} is not trusted; `prompt-expander trust --list` shows what is",
                        full_path(&folder)
                    )
                }
                (true, _) => trusted.retain(|known| !is_known(known)),
                (false, None) => bail!(
                    "{} is not in a git repository; --project serves the prompts in its {PROJECT_FOLDER} for one command",
                    full_path(&folder)
                ),
                (false, Some(root)) => {
                    let text = root
                        .to_str()
                        .with_context(|| format!("{} is not UTF-8", full_path(root)))?;
                    match trusted.iter().any(|known| known == text) {
                        true => {
                            said = format!(
                                "{} is trusted already; --revoke stops that",
                                full_path(root)
                            )
                        }
                        false if self.is_granted(source, root)? => trusted.push(text.to_owned()),
                        false => said = "nothing is changed".to_owned(),
                    }
                }
            }
            if trusted != user_folders::trusted(&file) {
                config::set_trusted(&file, &trusted)?;
            }
        }
        if self.json {
            output::print_json(&json!({ "trusted": trusted }))?;
        } else if self.list {
            trusted
                .iter()
                .try_for_each(|root| path::print("", Path::new(root)))?;
        } else {
            output::note(&said);
        }
        Ok(())
    }

    /// Shows what would be served, and asks.
    fn is_granted(&self, mut source: PromptSource, root: &Path) -> anyhow::Result<bool> {
        source.project = true;
        let view = source.library_at(Some(root)).view();
        let found = view
            .list()
            .found
            .into_iter()
            .filter(|found| found.layer.is_project());
        let names: Vec<String> = found.map(|found| shown(&view, &found)).collect();
        let root = full_path(root);
        let served = match names.is_empty() {
            true => format!("{root} has no prompts yet"),
            false => format!(
                "{root} has {}: {}",
                count(names.len(), "prompt"),
                names.join(", ")
            ),
        };
        output::note(&format!(
            "{served}; agents that work there would get them, and what a later pull brings, too"
        ));
        Ok(self.yes || output::confirm(&format!("Trust {root}?"), &format!("trust {root}"))?)
    }
}

fn shown(view: &View, found: &Found) -> String {
    let is_own = view
        .all(&found.name)
        .iter()
        .any(|other| other.layer == Layer::USER);
    format!(
        "{}{}",
        named(&found.name),
        if is_own { " (overrides yours)" } else { "" }
    )
}
