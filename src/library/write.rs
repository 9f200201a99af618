//! Creates prompt files: which names they may have, and where they go. The only file that writes any.

use super::folder::{Folder, MAX_DEPTH, MAX_NAME};
use super::lookup::{not_a_command, strip};
use super::project::FOLDER;
use super::{Problem, View};
use crate::wording::{named, quoted};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What Windows forbids in file names, but for `:` and `\`, which are handled elsewhere, and spaces, which are never allowed.
const FORBIDDEN: [char; 6] = ['<', '>', '"', '|', '?', '*'];

/// Names that Windows reserves for devices, whatever their suffix; so are `COM` and `LPT` with a digit.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Why a prompt file cannot be created.
#[derive(Debug)]
pub(crate) enum CreateError {
    /// There is such a file, and it stays as it is.
    Exists(PathBuf),
    /// There is a file, or a broken link, where a folder is needed.
    NotAFolder(PathBuf),
    /// A symlink in the path points back to a folder that it is in.
    Cycle(PathBuf),
    /// A symlink in the path points outside a project's prompts, where nothing is read.
    Escapes(PathBuf),
    /// The system refuses to write there.
    Io(PathBuf, io::Error),
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| named(&path.display().to_string());
        match self {
            CreateError::Exists(file) => write!(f, "{} already exists, and is not changed", path(file)),
            CreateError::NotAFolder(obstacle) => {
                let obstacle = path(obstacle);
                write!(f, "{obstacle} is not a folder, and the new file needs one there; choose another name or place")
            }
            CreateError::Cycle(folder) => {
                write!(
                    f,
                    "a symlink in {} points back to a folder above it; choose another name or place",
                    path(folder)
                )
            }
            CreateError::Escapes(file) => {
                let file = path(file);
                write!(f, "a symlink in {file} points outside the project; choose another name or place")
            }
            CreateError::Io(path_of_error, error) => {
                write!(f, "{} cannot be written: {error}; fix that, or choose another place", path(path_of_error))
            }
        }
    }
}

impl std::error::Error for CreateError {}

impl View {
    /// Whether an editor may open what is at this path: it is a file, and not behind a symlink that points outside a project.
    pub(crate) fn is_editable(&self, path: &Path) -> bool {
        // Opening a FIFO would block. And saving through such a symlink would change a file that nobody named.
        fs::metadata(path).is_ok_and(|file| file.is_file())
            && !self.folders().any(|folder| path.starts_with(&folder.path) && folder.escape(path).is_some())
    }

    /// What [`View::check`] says of one file.
    pub(crate) fn problems_of(&self, file: &Path) -> Vec<Problem> {
        let mut problems = self.check().problems;
        problems.retain(|problem| is_same_path(&problem.path, file));
        problems
    }
}

/// Whether two paths name one file; where letter case makes no difference, what was typed may differ from what is listed.
fn is_same_path(a: &Path, b: &Path) -> bool {
    let lower = |path: &Path| path.to_string_lossy().to_lowercase();
    a == b || (cfg!(any(windows, target_os = "macos")) && lower(a) == lower(b))
}

/// What is at the path of a prompt file after others could change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    /// A file, or a symlink of any kind.
    Exists,
    Folder,
    Deleted,
}

impl FileState {
    pub(crate) fn of(file: &Path) -> FileState {
        match fs::symlink_metadata(file) {
            Err(_) => FileState::Deleted,
            Ok(now) if now.is_dir() => FileState::Folder,
            Ok(_) => FileState::Exists,
        }
    }
}

/// The name of a new prompt from what was typed: without spaces around it and a leading colon, and with `/` for `:`.
///
/// # Errors
/// It could not be typed in a chat, or some system cannot have a file of that name; the reason is a line for a person. What
/// only one system forbids is refused on all, because folders of prompts are shared.
pub(crate) fn new_name(typed: &str) -> Result<String, String> {
    let refused = |why: &str| Err(format!("{} cannot be the name of a prompt: {why}", quoted(typed)));
    let bare = strip(typed);
    if bare.is_empty() {
        return refused("it is empty; write a word, such as `standup`");
    }
    if bare.contains(char::is_whitespace) {
        let hyphenated = bare.split_whitespace().collect::<Vec<_>>().join("-");
        return refused(&format!("a space ends it where it is typed; write {}", named(&hyphenated)));
    }
    if let Some(character) = bare.chars().find(|character| is_invisible(*character)) {
        return refused(&format!("it has an invisible character, U+{:04X}", u32::from(character)));
    }
    let has_scheme = bare.contains("://");
    if let Some(kind) = not_a_command(&format!(":{bare}")).filter(|_| has_scheme || !bare.contains("//")) {
        return refused(&format!("after a colon it looks like {kind}"));
    }
    let name = bare.replace(':', "/");
    let segments: Vec<&str> = name.split('/').collect();
    for segment in &segments {
        if let Err(why) = check_segment(segment) {
            return refused(&why);
        }
    }
    let last = segments.last().copied().unwrap_or_default();
    if let Some((stem, _)) = last.rsplit_once('.').filter(|(_, ending)| ending.eq_ignore_ascii_case("md")) {
        let without = [&segments[..segments.len() - 1], &[stem]].concat().join("/");
        return refused(&format!("the suffix belongs to the file only; write {}", named(&without)));
    }
    if name.len() > MAX_NAME {
        return refused(&format!("it is {} bytes long, and the limit is {MAX_NAME}", name.len()));
    }
    if segments.len() > MAX_DEPTH + 1 {
        return refused(&format!("it has {} folders, and the limit is {MAX_DEPTH}", segments.len() - 1));
    }
    Ok(name)
}

/// Whether a segment of a name can be the name of a file or a folder that is not hidden, on every system; `Err`: why not.
fn check_segment(segment: &str) -> Result<(), String> {
    if segment.is_empty() {
        return Err("`/` separates a folder from a name, and one of them is empty".to_owned());
    }
    if segment.starts_with('.') {
        return Err(format!("a file or folder that begins with a dot, {}, is hidden and ignored", named(segment)));
    }
    if segment.ends_with('.') {
        return Err("Windows has no file or folder that ends in a dot".to_owned());
    }
    if let Some(character) = segment.chars().find(|character| FORBIDDEN.contains(character)) {
        return Err(format!("Windows forbids `{character}` in file names"));
    }
    let stem = segment.split('.').next().unwrap_or(segment).to_lowercase();
    let is_port = |port: &str| {
        let number = stem.strip_prefix(port).map(|number| number.chars().collect::<Vec<_>>());
        number.is_some_and(|number| matches!(number[..], ['0'..='9' | '¹' | '²' | '³']))
    };
    if DEVICES.contains(&stem.as_str()) || is_port("com") || is_port("lpt") {
        return Err(format!("Windows reserves {} for a device", named(&stem)));
    }
    Ok(())
}

/// Whether a character is invisible. Those that join letters are allowed.
fn is_invisible(character: char) -> bool {
    let is_format = matches!(
        character,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    );
    character.is_control() || is_format
}

/// Creates the file of a new prompt in a folder, and the folders that it needs; returns its path.
///
/// `name` is from [`new_name`], or that of a built-in prompt. An existing file is not changed, even if it was created in the
/// same moment.
///
/// # Errors
/// There is such a file, in any spelling of its suffix, or it cannot be written. Then nothing is new but perhaps folders.
pub(crate) fn create(folder: &Path, name: &str, text: &str) -> Result<PathBuf, CreateError> {
    let any = Folder::new(folder.to_owned(), true, &Arc::default());
    let is_project = folder.file_name().is_some_and(|name| name == FOLDER);
    let target = if is_project { &Folder::of_project(folder.to_owned(), &Arc::default()) } else { &any };
    if let Some(file) = target.resolve(name) {
        return Err(CreateError::Exists(file.path.to_path_buf()));
    }
    let path = target.path_for_new(name).ok_or_else(|| match any.path_for_new(name) {
        Some(path) => CreateError::Escapes(path),
        None => CreateError::Cycle(folder.join(name)),
    })?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| cannot_create_folder(parent, error))?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CreateError::Exists(path.clone()),
        _ => CreateError::Io(path.clone(), error),
    })?;
    // In one write, so that a reader sees all of it or nothing.
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        let _ = fs::remove_file(&path); // a part of a prompt is worse than none
        CreateError::Io(path.clone(), error)
    })?;
    Ok(path)
}

/// Deletes a file that [`create`] made, if it is still a file and holds nothing but the text that it was created with.
/// Returns whether it did.
///
/// # Errors
/// It cannot be deleted.
pub(crate) fn delete_if_unchanged(file: &Path, text: &str) -> io::Result<bool> {
    let is_file = fs::symlink_metadata(file).is_ok_and(|now| now.is_file()); // reading a FIFO would block
    let is_unchanged = is_file && fs::read(file).is_ok_and(|now| now == text.as_bytes());
    if is_unchanged {
        fs::remove_file(file)?;
    }
    Ok(is_unchanged)
}

/// Why a folder could not be created: the first part of its path that is not a folder, or what the system says.
fn cannot_create_folder(folder: &Path, error: io::Error) -> CreateError {
    let mut parts: Vec<&Path> = folder.ancestors().collect();
    parts.reverse();
    let obstacle = parts.into_iter().find(|part| fs::symlink_metadata(part).is_ok() && !part.is_dir());
    match obstacle {
        Some(part) if error.kind() != ErrorKind::PermissionDenied => CreateError::NotAFolder(part.to_owned()),
        _ => CreateError::Io(folder.to_owned(), error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Library;
    use super::*;

    #[test]
    fn a_name_is_what_one_types_without_the_colon() {
        for (typed, name) in [
            ("standup", "standup"),
            (":standup", "standup"),
            (" :git:commit ", "git/commit"),
            ("git/commit", "git/commit"),
            ("list", "list"),
            ("5whys", "5whys"),
            ("要約", "要約"),
            ("v1.2", "v1.2"),
            ("it's", "it's"),
            ("console", "console"),
            ("com10", "com10"),
            ("a/b/c", "a/b/c"),
        ] {
            assert_eq!(new_name(typed).as_deref(), Ok(name), "{typed:?}");
        }
        let deep = "d/".repeat(MAX_DEPTH) + "x";
        assert_eq!(new_name(&deep), Ok(deep));
    }

    #[test]
    fn a_name_that_cannot_be_typed_or_saved_everywhere_is_refused_with_the_reason() {
        for (typed, why) in [
            ("", "empty"),
            (" : ", "empty"),
            ("my prompt", "write `my-prompt`"),
            ("a\u{a0}b", "write `a-b`"),
            ("a\u{1b}b", "U+001B"),
            ("a\u{200b}b", "U+200B"),
            ("10:30", "a time or a number"),
            ("30", "a time or a number"),
            (":smile:", "an emoji"),
            ("D", "an emoticon"),
            ("...", "an emoticon"),
            ("std::vec", "a path in code"),
            ("C:\\x", "a Windows path"),
            ("a\\b", "a Windows path"),
            ("https://example.com", "an address"),
            ("/etc/passwd", "one of them is empty"),
            ("a//b", "one of them is empty"),
            ("a/", "one of them is empty"),
            ("../x", "`..`, is hidden"),
            ("a/../x", "`..`, is hidden"),
            ("a/./x", "`.`, is hidden"),
            (".x", "`.x`, is hidden"),
            ("a./x", "ends in a dot"),
            ("a?", "forbids `?`"),
            ("a*b", "forbids `*`"),
            ("nul", "reserves `nul`"),
            ("git/CON.x", "reserves `con`"),
            ("COM¹", "reserves `com¹`"),
            ("standup.md", "write `standup`"),
            ("git/x.MD", "write `git/x`"),
            ("git/.md", "is hidden"),
        ] {
            let refused = new_name(typed).unwrap_err();
            assert!(refused.contains(why), "{typed:?}: {refused}");
        }
        assert!(new_name(&"x".repeat(MAX_NAME + 1)).unwrap_err().contains("the limit is 1024"));
        assert!(new_name(&("d/".repeat(MAX_DEPTH + 1) + "x")).unwrap_err().contains("the limit is 32"));
    }

    #[test]
    fn a_created_file_is_deleted_only_if_it_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = create(folder.path(), "git/a", "Text.\n").unwrap();
        assert_eq!(FileState::of(&file), FileState::Exists);
        fs::write(&file, "Text.").unwrap();
        assert!(!delete_if_unchanged(&file, "Text.\n").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"Text.");
        assert!(delete_if_unchanged(&file, "Text.").unwrap());
        assert_eq!(FileState::of(&file), FileState::Deleted);
        assert!(!delete_if_unchanged(&file, "Text.").unwrap());
        fs::create_dir(&file).unwrap();
        assert!(!delete_if_unchanged(&file, "Text.").unwrap());
        assert_eq!(FileState::of(&file), FileState::Folder);
        #[cfg(unix)]
        {
            let (target, link) = (folder.path().join("target"), folder.path().join("link.md"));
            fs::write(&target, "Text.").unwrap();
            std::os::unix::fs::symlink(&target, &link).unwrap();
            assert!(!delete_if_unchanged(&link, "Text.").unwrap());
            assert_eq!((FileState::of(&link), FileState::of(&target)), (FileState::Exists, FileState::Exists));
        }
    }

    #[test]
    fn the_problems_of_a_file_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| create(folder.path(), name, "---\n").unwrap());
        fs::write(&c, "Text.").unwrap();
        let view = Library::named([folder.path().to_owned()]).view();
        for (file, want) in [(&a, vec!["a.md"]), (&b, vec!["b.md"]), (&c, vec![])] {
            let problems = view.problems_of(file);
            assert_eq!(problems.iter().map(|problem| problem.file.as_str()).collect::<Vec<_>>(), want);
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_editor_may_open_files_and_nothing_outside_of_a_project() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let prompts = folder.path().join(FOLDER);
        fs::create_dir_all(prompts.join("folder.md")).unwrap();
        for file in [folder.path().join("out.md"), prompts.join("in.md")] {
            fs::write(file, "Text.").unwrap();
        }
        for (to, link) in [("../out.md", "out.md"), ("in.md", "link.md"), ("nowhere", "broken.md")] {
            symlink(to, prompts.join(link)).unwrap();
        }
        let project = Library::default().with_project(folder.path(), None).view();
        let named = Library::named([prompts.clone()]).view();
        for (file, of_project, of_named) in [
            ("in.md", true, true),
            ("link.md", true, true),
            ("out.md", false, true),
            ("broken.md", false, false),
            ("folder.md", false, false),
            ("none.md", false, false),
        ] {
            let path = prompts.join(file);
            assert_eq!((project.is_editable(&path), named.is_editable(&path)), (of_project, of_named), "{file}");
        }
    }
}
