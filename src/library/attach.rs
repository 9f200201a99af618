//! Reads the attachments of a prompt, at each request: files next to the prompt's file, and never one that is outside of the folder of
//! the library, after all links are resolved.

use super::caller::Prefix;
use super::history::FOLDER as HISTORY;
use super::read;
use super::root::{Root, path_of_open_file};
use crate::prompt::{Attachment, AttachmentPath, Content, Diagnostic, Kind, MAX_ATTACHED, MAX_ATTACHMENT, Prompt};
use crate::wording::{printable, quoted, too_long};
use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The attachments of a prompt in this file, in their order, each with what is wrong with it. They are read one after the other. Without a
/// root, there are no files. With a prefix, no other file of the folder may be attached.
pub(super) fn attachments<'p>(
    root: Option<&'p Root>,
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
        let Some(root) = root else {
            let problem = attachment.problem("is a file, and a store of prompts has none", "give an https:// address");
            return Err(Diagnostic { kind: Kind::Missing, ..problem });
        };
        let (bytes, target) = bytes_of(root, attachment, file, prefix)
            .map_err(|why| Diagnostic { kind: why.kind, ..attachment.problem(&why.message, &why.fix) })?;
        total += bytes.len();
        if total > MAX_ATTACHED {
            let what = format!("is the one with which all are {}", too_long(total, MAX_ATTACHED));
            let fix = "attach fewer, or write their paths into the prompt for the agent to read";
            return Err(Diagnostic { kind: Kind::Unreadable, ..attachment.problem(&what, fix) });
        }
        let name = attachment.file_name();
        let name = if counts.get(name) == Some(&1) { name } else { &attachment.path };
        let content = attachment.content(bytes, without_verbatim_prefix(target).to_string_lossy().into_owned())?;
        Ok(Attachment { name: name.to_owned(), content })
    })
}

/// The bytes of one attachment, and its real path.
///
/// # Errors
/// It cannot be attached. The message is a clause about the attachment.
fn bytes_of(
    root: &Root,
    attachment: &AttachmentPath,
    file: &Path,
    prefix: Option<&Prefix>,
) -> Result<(Vec<u8>, PathBuf), Diagnostic> {
    const CORRECT: &str = "correct its path, which is relative to the file of the prompt, or create it";
    let path = file.parent().unwrap_or(&root.path).join(&attachment.path);
    let target = fs::canonicalize(&path);
    if let Some(prefix) = prefix
        && !target.as_ref().is_ok_and(|target| prefix.has_file(&root.path, target))
    {
        // The error does not say whether there is such a file elsewhere.
        let message = format!("does not exist in {}", quoted(&prefix.to_string()));
        return Err(Diagnostic::new(Kind::Missing, message, CORRECT));
    }
    let cannot = |why: Diagnostic| match why.kind {
        Kind::Missing => Diagnostic::new(Kind::Missing, "does not exist", CORRECT),
        _ => Diagnostic { kind: Kind::Unreadable, message: format!("cannot be attached: {}", why.message), ..why },
    };
    let target = target.map_err(|error| cannot(read::unreadable(&path, &error)))?;
    let real_root = fs::canonicalize(&root.path).map_err(|error| cannot(read::unreadable(&root.path, &error)))?;
    check_inside(&real_root, &target)?;
    let check = |open: &File| path_of_open_file(open).map_or(Ok(()), |now| check_inside(&real_root, &now));
    let bytes = read::read(&target, MAX_ATTACHMENT, check).map_err(cannot)?;
    let below = target.strip_prefix(&real_root).unwrap_or(&target);
    root.check_hash(&root.path.join(below), &bytes).map_err(cannot)?;
    Ok((bytes, target))
}

fn check_inside(root: &Path, target: &Path) -> Result<(), Diagnostic> {
    if !target.starts_with(root) {
        let target = printable(&without_verbatim_prefix(target.to_owned()).display().to_string());
        let message = format!("is outside of the prompts folder, at {target}");
        return Err(Diagnostic::new(Kind::Escapes, message, "copy it into the folder"));
    }
    if target.starts_with(root.join(HISTORY)) {
        let message = format!("is in {HISTORY}, whose files are no part of a prompt");
        return Err(Diagnostic::new(Kind::Escapes, message, "copy it to another folder"));
    }
    Ok(())
}

/// A path as people write it: on Windows, a resolved path begins with `\\?\`.
fn without_verbatim_prefix(path: PathBuf) -> PathBuf {
    path.to_str().and_then(|text| text.strip_prefix(r"\\?\")).map_or_else(|| path.clone(), PathBuf::from)
}
