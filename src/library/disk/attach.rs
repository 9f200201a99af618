//! Reads the attachments of a prompt, at each request: files next to the prompt's file, and never
//! one that is outside of the folder of the library, after all links are resolved.

use super::include::read_named;
use super::root::Root;
use crate::library::caller::Prefix;
use crate::prompt::{Attachment, Content, Diagnostic, Kind, MAX_ATTACHED, MAX_ATTACHMENT, Prompt};
use crate::wording::too_long;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const CORRECT: &str = "correct its path, which is relative to the file of the prompt, or create it";

/// The attachments of a prompt in this file, in their order, each with what is wrong with it. They
/// are read one after the other. Without a root, there are no files. With a prefix, no other file
/// of the folder may be attached.
pub(crate) fn attachments<'p>(
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
            return Ok(Attachment {
                name: attachment.path.clone(),
                content: Content::Address,
            });
        }
        let Some(root) = root else {
            let problem = attachment.problem(
                "is a file, and a store of prompts has none",
                "give an https:// address",
            );
            return Err(Diagnostic {
                kind: Kind::Missing,
                ..problem
            });
        };
        let path = file.parent().unwrap_or(&root.path).join(&attachment.path);
        let (path, bytes) = read_named(root, &path, MAX_ATTACHMENT, prefix).map_err(|why| {
            let what = format!("cannot be attached: {}", why.message);
            match why.kind {
                Kind::Missing => Diagnostic {
                    kind: why.kind,
                    ..attachment.problem(&what, CORRECT)
                },
                Kind::Escapes => Diagnostic {
                    kind: why.kind,
                    ..attachment.problem(&what, &why.fix)
                },
                _ => attachment.problem(&what, &why.fix),
            }
        })?;
        total += bytes.len();
        if total > MAX_ATTACHED {
            let what = format!(
                "makes all attachments together {}",
                too_long(total, MAX_ATTACHED)
            );
            let fix = "attach fewer, or write their paths into the prompt for the agent to read";
            return Err(attachment.problem(&what, fix));
        }
        let name = attachment.file_name();
        let name = if counts.get(name) == Some(&1) {
            name
        } else {
            &attachment.path
        };
        let content = attachment.content(bytes, path.to_string_lossy().into_owned())?;
        Ok(Attachment {
            name: name.to_owned(),
            content,
        })
    })
}

/// Returns the files that a prompt in this file attaches, with their paths and bytes. What cannot
/// be attached is left out.
pub(crate) fn attached_files(root: &Root, prompt: &Prompt, file: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = file.parent().unwrap_or(&root.path);
    let mut files = Vec::new();
    for attachment in &prompt.attachments {
        let path = folder.join(&attachment.path);
        files.extend(read_named(root, &path, MAX_ATTACHMENT, None));
    }
    files
}
