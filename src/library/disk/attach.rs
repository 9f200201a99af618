//! Reads the attachments of a prompt. They are read anew for each request, and must be inside the
//! prompts folder after resolving symlinks.

use super::include::{NeighborFile, read_neighbor};
use super::root::Root;
use crate::library::caller::Prefix;
use crate::prompt::{
    Attachment, AttachmentPath, Content, Diagnostic, Kind, MAX_ATTACHMENT, MAX_ATTACHMENTS_SIZE,
    Prompt,
};
use crate::wording::size_and_limit;
use std::collections::HashMap;
use std::path::Path;

/// The fix for an attachment that doesn't exist.
const PATH_FIX: &str =
    "correct its path, which is relative to the file of the prompt, or create it";

/// Reads the attachments of one prompt, in order.
struct AttachmentReader<'p> {
    /// The prompts folder. `None` for a prompt in a database, which can't attach files.
    root: Option<&'p Root>,
    /// The file of the prompt.
    file: &'p Path,
    /// Limits which files may be attached. With `team/`, only those in the folder `team`.
    prefix: Option<&'p Prefix>,
    /// How many attachments share a file name.
    name_counts: HashMap<&'p str, usize>,
    /// The total size of the files read so far, in bytes.
    total_length: usize,
}

/// Reads the attachments of a prompt lazily, in the order of its frontmatter.
///
/// - `root` is the prompts folder, or `None` for a prompt in a database, which can only attach
///   URLs.
/// - `file` is the file of the prompt.
/// - `prefix` limits which files may be attached: with `team/`, only those in the folder `team`.
pub(crate) fn attachments<'p>(
    root: Option<&'p Root>,
    prompt: &'p Prompt,
    file: &'p Path,
    prefix: Option<&'p Prefix>,
) -> impl Iterator<Item = Result<Attachment, Diagnostic>> {
    let mut name_counts: HashMap<&str, usize> = HashMap::new();
    for attachment in &prompt.attachments {
        *name_counts.entry(attachment.file_name()).or_default() += 1;
    }
    let mut reader = AttachmentReader {
        root,
        file,
        prefix,
        name_counts,
        total_length: 0,
    };
    let attachments = prompt.attachments.iter();
    attachments.map(move |attachment| reader.read(attachment))
}

impl AttachmentReader<'_> {
    /// Reads the file of an attachment. A URL is not fetched: the client downloads it.
    fn read(&mut self, attachment: &AttachmentPath) -> Result<Attachment, Diagnostic> {
        if attachment.is_url()? {
            return Ok(Attachment {
                name: attachment.path.clone(),
                content: Content::Url,
            });
        }
        let Some(root) = self.root else {
            return Err(file_in_database_error(attachment));
        };
        let folder = self.file.parent().unwrap_or(&root.path);
        let path = folder.join(&attachment.path);
        let file = read_neighbor(root, &path, MAX_ATTACHMENT, self.prefix)
            .map_err(|error| unreadable_error(attachment, &error))?;
        self.add_length(attachment, file.bytes.len())?;
        Ok(Attachment {
            name: self.name_of(attachment).to_owned(),
            content: attachment.to_content(file.bytes, file.path.to_string_lossy().into_owned())?,
        })
    }

    /// Adds to the total size.
    ///
    /// # Errors
    /// Fails if the total exceeds [`MAX_ATTACHMENTS_SIZE`].
    fn add_length(&mut self, attachment: &AttachmentPath, length: usize) -> Result<(), Diagnostic> {
        self.total_length += length;
        if self.total_length <= MAX_ATTACHMENTS_SIZE {
            return Ok(());
        }
        let size_and_limit = size_and_limit(self.total_length, MAX_ATTACHMENTS_SIZE);
        Err(attachment.error(
            &format!("makes all attachments together {size_and_limit}"),
            "attach fewer, or write their paths into the prompt for the agent to read",
        ))
    }

    /// Returns the display name of an attachment: `a.png` for `images/a.png`, or the whole path if
    /// several attachments are named `a.png`.
    fn name_of<'a>(&self, attachment: &'a AttachmentPath) -> &'a str {
        let name = attachment.file_name();
        let is_unique = self.name_counts.get(name) == Some(&1);
        if is_unique { name } else { &attachment.path }
    }
}

/// Returns the error for a prompt in a database that attaches a file. Callers treat it like a
/// missing file, so it has that kind.
fn file_in_database_error(attachment: &AttachmentPath) -> Diagnostic {
    let mut diagnostic = attachment.error(
        "is a file, but a prompt in a database can only attach addresses",
        "give an https:// address",
    );
    diagnostic.kind = Kind::NotFound;
    diagnostic
}

/// Turns an error from reading a file into one about the attachment.
///
/// Keeps only two kinds of errors, because callers handle them separately: missing files, and files
/// outside the prompts folder.
fn unreadable_error(attachment: &AttachmentPath, error: &Diagnostic) -> Diagnostic {
    let problem = format!("cannot be attached: {}", error.message);
    let fix = if error.kind == Kind::NotFound {
        PATH_FIX
    } else {
        &error.fix
    };
    let mut diagnostic = attachment.error(&problem, fix);
    if matches!(error.kind, Kind::NotFound | Kind::OutsideFolder) {
        diagnostic.kind = error.kind.clone();
    }
    diagnostic
}

/// Returns the path and contents of each attached file. Skips URLs and files that can't be read.
pub(crate) fn attached_files(root: &Root, prompt: &Prompt, file: &Path) -> Vec<NeighborFile> {
    let folder = file.parent().unwrap_or(&root.path);
    let mut files = Vec::new();
    for attachment in &prompt.attachments {
        let path = folder.join(&attachment.path);
        if let Ok(file) = read_neighbor(root, &path, MAX_ATTACHMENT, None) {
            files.push(file);
        }
    }
    files
}
