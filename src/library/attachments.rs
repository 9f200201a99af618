//! Reads the attachments of a prompt, at each request: files next to the prompt's file, and never one that is outside of the folder of
//! the library, after all links are resolved.

use super::caller::Prefix;
use super::folder::Folder;
use super::history::FOLDER as HISTORY;
use super::read::{Refusal, attachment_refusal, read_attachment};
use crate::prompt::{Attachment, AttachmentPath, Content, Diagnostic, MAX_ATTACHED, MAX_ATTACHMENT, Prompt};
use crate::wording::{printable, quoted};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

impl Folder {
    /// The attachments of a prompt in this file, in their order, each with what is wrong with it. They are read one after the other.
    /// With a prefix, no other file of the folder may be attached.
    pub(super) fn attachments<'p>(
        &'p self,
        prompt: &'p Prompt,
        file: &'p Path,
        prefix: Option<&'p Prefix>,
    ) -> impl Iterator<Item = Result<Attachment, Diagnostic>> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for attachment in &prompt.attachments {
            *counts.entry(attachment.file_name()).or_default() += 1;
        }
        let mut total = 0;
        prompt.attachments.iter().map(move |attachment| {
            if attachment.is_address()? {
                return Ok(Attachment { name: attachment.path.clone(), content: Content::Address });
            }
            let name = attachment.file_name();
            let is_unique = counts.get(name) == Some(&1);
            let name = if is_unique { name } else { &attachment.path };
            let content = self.attachment_content(attachment, (file, prefix), &mut total)?;
            Ok(Attachment { name: name.to_owned(), content })
        })
    }

    /// Reads one attachment. `total` is the size of those before it.
    fn attachment_content(
        &self,
        attachment: &AttachmentPath,
        (file, prefix): (&Path, Option<&Prefix>),
        total: &mut usize,
    ) -> Result<Content, Diagnostic> {
        let refused = |(what, fix): Refusal| attachment.problem(&what, fix);
        let path = file.parent().unwrap_or(&self.path).join(&attachment.path);
        let target = fs::canonicalize(&path);
        if let Some(prefix) = prefix
            && !target.as_ref().is_ok_and(|target| prefix.has_file(&self.path, target))
        {
            // Whether there is such a file elsewhere is not said.
            let fix = "correct its path, which is relative to the file of the prompt";
            return Err(refused((format!("does not exist in {}", quoted(&prefix.to_string())), fix)));
        }
        let target = target.map_err(|error| refused(attachment_refusal(error)))?;
        let root = fs::canonicalize(&self.path).map_err(|error| refused(attachment_refusal(error)))?;
        if !target.starts_with(&root) {
            return Err(refused(outside(&target)));
        }
        if target.starts_with(root.join(HISTORY)) {
            let what = format!("is in {HISTORY}, whose files are no part of a prompt");
            return Err(refused((what, "copy it to another folder")));
        }
        let bytes = read_attachment(&target, MAX_ATTACHMENT, |open| {
            self.escape_of_open_file(open).map_or(Ok(()), |target| Err(outside(&target)))
        });
        let bytes = bytes.map_err(refused)?;
        *total += bytes.len();
        if *total > MAX_ATTACHED {
            let what = format!("is the one with which all are {total} bytes long, the limit is {MAX_ATTACHED}");
            return Err(refused((what, "attach fewer, or write their paths into the prompt for the agent to read")));
        }
        attachment.content(bytes, without_prefix(target).to_string_lossy().into_owned())
    }
}

fn outside(target: &Path) -> Refusal {
    let target = printable(&without_prefix(target.to_owned()).display().to_string());
    (format!("is outside of the prompts folder, at {target}"), "copy it into the folder")
}

/// A path as people write it: on Windows, a resolved path begins with `\\?\`.
fn without_prefix(path: PathBuf) -> PathBuf {
    path.to_str().and_then(|text| text.strip_prefix(r"\\?\")).map_or_else(|| path.clone(), PathBuf::from)
}
