//! Lets the user review the texts of a pack, and installs them if the user accepts.

use super::lock_file::{LockFile, accepted_line};
use crate::cli::review::{self, Review, ReviewedText};
use crate::library::{Folder, Source};
use crate::sources::pack::git::FetchedPack;
use crate::sources::pack::pack_lock::Pack;
use crate::sources::pack::{NewCopies, read_unchanged};
use crate::wording::{count, in_backticks};
use anyhow::ensure;
use std::path::Path;

/// A fetched version of a pack, for the user to accept or reject.
pub(super) struct Offer {
    pub(super) fetched: FetchedPack,
    /// The pack's entry in the lock file; `None` for a new pack. Texts that are unchanged since
    /// then aren't shown again.
    pub(super) locked: Option<Pack>,
    /// Lines as [`accepted_line`] writes them. The texts that they identify aren't shown again
    /// either.
    pub(super) accepted_lines: String,
}

impl Offer {
    /// Shows the new texts, and installs the pack if the user accepts. With `assume_yes`, doesn't
    /// ask. Returns whether the pack was installed.
    ///
    /// # Errors
    /// Fails if the pack is empty, its texts can't be shown, or a file can't be written. If there
    /// is no terminal to show the texts on, the error recommends `yes_options`, the options that
    /// accept them without asking.
    pub(super) fn install_if_accepted(
        &self,
        packs: &mut LockFile<'_>,
        assume_yes: bool,
        yes_options: &str,
    ) -> anyhow::Result<bool> {
        for file in &self.fetched.skipped {
            packs.reporter.warn(&format!("left out: {file}"));
        }
        ensure!(
            !self.fetched.files.is_empty(),
            "{} has no prompts; name their folder with `--path`",
            in_backticks(&self.fetched.pack.address)
        );
        let NewCopies { temporary, prompts } = packs
            .copies
            .write(&self.fetched.pack, &self.fetched.files)?;
        let version = self.fetched.pack.version();
        let review = self.review(packs, temporary.path(), &prompts);
        let is_accepted = review.is_empty() // nothing that the user hasn't accepted before
            || review.prompt_user_to_accept(
                &format!("Take {version}?"),
                assume_yes,
                yes_options,
                packs.reporter,
            )?;
        if !is_accepted {
            packs.reporter.note("nothing was changed");
            return Ok(false);
        }
        // Before `install`, which moves away the temporary folder that `prompts` reads.
        let example = prompts.list().found.into_iter().next();
        packs.install(&self.fetched.pack, temporary)?;
        let texts = count(self.fetched.pack.files.len(), "text");
        match example {
            Some(example) => packs.reporter.note(&format!(
                "took {texts} of {version}, such as `:{}`",
                example.name
            )),
            None => packs.reporter.note(&format!("took {texts} of {version}")),
        }
        Ok(true)
    }

    /// Returns a review of the texts that the user hasn't accepted yet. `new_folder` contains the
    /// fetched texts, and `new_prompts` reads them from there.
    fn review(&self, packs: &LockFile<'_>, new_folder: &Path, new_prompts: &Folder) -> Review {
        let mut review = Review::default();
        for (file, new_text) in &self.fetched.files {
            let old_text = self.old_text(packs, file);
            if old_text.as_ref() == Some(new_text) || self.was_accepted(file) {
                review.unchanged += 1;
                continue;
            }
            let description = match new_prompts.find_by_path(&new_folder.join(file)) {
                Some(Ok(found)) => review::describe(&found),
                _ => "to be included in others".to_owned(),
            };
            review.add(&ReviewedText {
                name: &typed_name(&self.fetched.pack, file),
                description: &description,
                old_text: old_text.as_deref().unwrap_or_default(),
                new_text,
            });
        }
        if let Some(locked) = &self.locked {
            for file in locked.files.keys() {
                if !self.fetched.files.contains_key(file) {
                    review.add_removed(&typed_name(&self.fetched.pack, file));
                }
            }
        }
        review
    }

    /// Returns the installed text of a file. `None` if the file is new, or its local copy is
    /// missing or was modified.
    fn old_text(&self, packs: &LockFile<'_>, file: &str) -> Option<String> {
        let locked = self.locked.as_ref()?;
        read_unchanged(locked, &packs.copies.folder_of(locked), file)
    }

    fn was_accepted(&self, file: &str) -> bool {
        self.accepted_lines
            .contains(&accepted_line(&self.fetched.pack, file))
    }
}

/// Returns what a user types for the prompt in `file`, e.g. `acme/review`. For a file that isn't a
/// prompt, returns its path in the pack: `acme/_part.md`.
fn typed_name(pack: &Pack, file: &str) -> String {
    match pack.format().split_path(file) {
        Some((stem, _)) => format!("{}/{stem}", pack.name),
        None => format!("{}/{file}", pack.name),
    }
}
