//! The texts of a pack that the user may take: shows what is new in them, asks, and takes them.

use super::lock_file::{LockFile, accepted_line};
use crate::cli::review::{self, Review, ReviewedText};
use crate::library::{Folder, Source};
use crate::sources::pack::git::FetchedFiles;
use crate::sources::pack::pack_lock::Pack;
use crate::sources::pack::{NewCopies, read_unchanged};
use crate::wording::{count, in_backticks};
use anyhow::ensure;
use std::path::Path;

/// A pack at a commit, with its texts.
pub(super) struct Offer {
    pub(super) pack: Pack,
    pub(super) texts: FetchedFiles,
    /// The pack as it is in the lock. Its texts are not shown again.
    pub(super) old: Option<Pack>,
    /// Lines of further texts that are not shown again, as [`accepted_line`] writes them.
    pub(super) accepted: String,
}

impl Offer {
    /// Shows what is new in the texts, and takes them if the user agrees. Returns whether they
    /// were taken. `options` take the texts without a question.
    ///
    /// # Errors
    /// There are no texts, they cannot be shown, or a file cannot be written.
    pub(super) fn take(
        &self,
        packs: &mut LockFile<'_>,
        yes: bool,
        options: &str,
    ) -> anyhow::Result<bool> {
        for file in &self.texts.skipped {
            packs.reporter.warn(&format!("left out: {file}"));
        }
        ensure!(
            !self.texts.files.is_empty(),
            "{} has no prompts; name their folder with `--path`",
            in_backticks(&self.pack.address)
        );
        let NewCopies { temporary, prompts } = packs.copies.write(&self.pack, &self.texts.files)?;
        let version = self.pack.version();
        let review = self.review(packs, temporary.path(), &prompts);
        let question = format!("Take {version}?");
        if !review.is_empty() && !review.is_accepted(&question, yes, options, packs.reporter)? {
            packs.reporter.note("nothing was changed");
            return Ok(false);
        }
        let first = prompts.list().found.into_iter().next();
        packs.put(&self.pack, temporary)?;
        let number = count(self.pack.files.len(), "text");
        match first {
            Some(first) => packs.reporter.note(&format!(
                "took {number} of {version}, such as `:{}`",
                first.name
            )),
            None => packs.reporter.note(&format!("took {number} of {version}")),
        }
        Ok(true)
    }

    /// Returns what the user has to see. `folder` has the new texts, which are also `prompts`.
    fn review(&self, packs: &LockFile<'_>, folder: &Path, prompts: &Folder) -> Review {
        let mut review = Review::default();
        for (file, text) in &self.texts.files {
            let before = self.old_text(packs, file);
            if before.as_ref() == Some(text) || self.is_accepted(file) {
                review.unchanged += 1;
                continue;
            }
            let about = match prompts.find_by_path(&folder.join(file)) {
                Some(Ok(found)) => review::about(&found),
                _ => "to be included in others".to_owned(),
            };
            review.add(&ReviewedText {
                name: &typed_name(&self.pack, file),
                about: &about,
                before: before.as_deref().unwrap_or_default(),
                text,
            });
        }
        if let Some(old) = &self.old {
            for file in old.files.keys() {
                if !self.texts.files.contains_key(file) {
                    review.add_removed(&typed_name(&self.pack, file));
                }
            }
        }
        review
    }

    /// Returns the text that a file has had so far.
    fn old_text(&self, packs: &LockFile<'_>, file: &str) -> Option<String> {
        let old = self.old.as_ref()?;
        read_unchanged(old, &packs.copies.folder_of(old), file)
    }

    fn is_accepted(&self, file: &str) -> bool {
        self.accepted.contains(&accepted_line(&self.pack, file))
    }
}

/// Returns what a user types for the prompt in a file, such as `acme/review`, or the path of a file
/// that is not a prompt: `acme/_part.md`.
fn typed_name(pack: &Pack, file: &str) -> String {
    match pack.format().split_path(file) {
        Some((stem, _)) => format!("{}/{stem}", pack.name),
        None => format!("{}/{file}", pack.name),
    }
}
