//! New prompt files: which names they may have, and where they lie; and what became of files that an editor had. The only
//! file that writes any.

use super::dir::{Dir, MAX_DEPTH, MAX_NAME};
use super::find::{not_a_command, strip};
use super::project::FOLDER;
use super::{Library, Problem};
use crate::wording::{named, quoted};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// What Windows forbids in the name of a file; it reads `:` and `\` as more than that, and blanks are forbidden anyway.
const FORBIDDEN: [char; 6] = ['<', '>', '"', '|', '?', '*'];

/// Names that Windows keeps for devices, whatever their ending; `COM` and `LPT` with a digit are more of them.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "conin$", "conout$"];

/// Why a prompt file cannot be made.
#[derive(Debug)]
pub(crate) enum CreateError {
    /// There is such a file, and it stays as it is.
    Exists(PathBuf),
    /// A file or a broken link stands where a folder is needed.
    NoFolder(PathBuf),
    /// A link on the way leads back to a folder that it lies in.
    Loop(PathBuf),
    /// A link on the way leads out of a project's prompts, where nothing is read.
    LeadsOut(PathBuf),
    /// The system refuses to write there.
    Io(PathBuf, io::Error),
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| named(&path.display().to_string());
        match self {
            CreateError::Exists(file) => write!(f, "{} is already there, and stays as it is", path(file)),
            CreateError::NoFolder(place) => {
                write!(
                    f,
                    "{} is no folder, and the new file needs one there; choose another name or place",
                    path(place)
                )
            }
            CreateError::Loop(folder) => {
                write!(f, "a link on the way to {} leads back; choose another name or place", path(folder))
            }
            CreateError::LeadsOut(file) => {
                let file = path(file);
                write!(f, "a link on the way to {file} leads out of the project; choose another name or place")
            }
            CreateError::Io(place, error) => {
                write!(f, "{} cannot be written: {error}; correct that, or choose another place", path(place))
            }
        }
    }
}

impl std::error::Error for CreateError {}

impl Library {
    /// The directory that new prompts go into: the first. `None`, if there is none, such as where no home directory is
    /// known.
    pub(crate) fn first_directory(&self) -> Option<&Path> {
        self.dirs.first().map(|dir| dir.path.as_path())
    }

    /// Whether an editor can do something about what lies at this path: there is a file, and it lies where one sees it.
    pub(crate) fn is_editable(&self, path: &Path) -> bool {
        // To open a FIFO is to wait for its writer. And what is saved behind a link that a project has to elsewhere, would
        // change a file that nobody has named.
        fs::metadata(path).is_ok_and(|file| file.is_file()) && !self.leads_out(path)
    }

    /// What [`Library::check`] tells of one file.
    pub(crate) fn problems_of(&self, file: &Path) -> Vec<Problem> {
        let mut problems = self.check().problems;
        problems.retain(|problem| is_same(&problem.path, file));
        problems
    }
}

/// Whether two paths name one file; where letter case makes no difference, what was typed may differ from what is listed.
fn is_same(a: &Path, b: &Path) -> bool {
    let lower = |path: &Path| path.to_string_lossy().to_lowercase();
    a == b || (cfg!(any(windows, target_os = "macos")) && lower(a) == lower(b))
}

/// What is at the path of a prompt file after others could change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A file still, or a link, wherever that leads.
    There,
    /// A folder.
    Folder,
    /// Nothing.
    Gone,
}

impl Standing {
    /// What is there now.
    pub(crate) fn of(file: &Path) -> Standing {
        match fs::symlink_metadata(file) {
            Err(_) => Standing::Gone,
            Ok(now) if now.is_dir() => Standing::Folder,
            Ok(_) => Standing::There,
        }
    }
}

/// The name that a new prompt gets from what was typed: without spaces around it and a colon before it, and with `/` for
/// `:`.
///
/// # Errors
/// One could not type it in a chat, or some system has no file of that name; the reason is a line for a person. What is
/// only unwise elsewhere is refused everywhere, because folders of prompts are shared.
pub(crate) fn new_name(typed: &str) -> Result<String, String> {
    let refused = |why: &str| Err(format!("{} cannot be the name of a prompt: {why}", quoted(typed)));
    let bare = strip(typed);
    if bare.is_empty() {
        return refused("it is empty; write a word, such as `standup`");
    }
    if bare.contains(char::is_whitespace) {
        let hyphenated = bare.split_whitespace().collect::<Vec<_>>().join("-");
        return refused(&format!("a blank ends it where it is typed; write {}", named(&hyphenated)));
    }
    if let Some(character) = bare.chars().find(|character| is_invisible(*character)) {
        return refused(&format!("it holds a character that cannot be seen, U+{:04X}", u32::from(character)));
    }
    let has_scheme = bare.contains("://");
    if let Some(kind) = not_a_command(&format!(":{bare}")).filter(|_| has_scheme || !bare.contains("//")) {
        return refused(&format!("behind a colon it looks like {kind}"));
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
        return refused(&format!("the ending is the file's alone; write {}", named(&without)));
    }
    if name.len() > MAX_NAME {
        return refused(&format!("it is {} bytes long, and the limit is {MAX_NAME}", name.len()));
    }
    if segments.len() > MAX_DEPTH + 1 {
        return refused(&format!("it names {} folders, and the limit is {MAX_DEPTH}", segments.len() - 1));
    }
    Ok(name)
}

/// Whether one part of a name can be the name of a file or a folder that is looked at, on every system; `Err`: why not.
fn check_segment(segment: &str) -> Result<(), String> {
    if segment.is_empty() {
        return Err("`/` goes between a folder and a name, and one of them is empty".to_owned());
    }
    if segment.starts_with('.') {
        return Err(format!("a file or folder that begins with a dot, {}, is hidden and left out", named(segment)));
    }
    if segment.ends_with('.') {
        return Err("Windows knows no file or folder that ends in a dot".to_owned());
    }
    if let Some(character) = segment.chars().find(|character| FORBIDDEN.contains(character)) {
        return Err(format!("Windows forbids `{character}` in the names of files"));
    }
    let stem = segment.split('.').next().unwrap_or(segment).to_lowercase();
    let is_port = |port: &str| {
        let number = stem.strip_prefix(port).map(|number| number.chars().collect::<Vec<_>>());
        number.is_some_and(|number| matches!(number[..], ['0'..='9' | '¹' | '²' | '³']))
    };
    if DEVICES.contains(&stem.as_str()) || is_port("com") || is_port("lpt") {
        return Err(format!("Windows keeps {} for a device", named(&stem)));
    }
    Ok(())
}

/// Whether a character shows nothing, and so cannot be told from its absence. Those that join letters have their use.
fn is_invisible(character: char) -> bool {
    let is_format = matches!(
        character,
        '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    );
    character.is_control() || is_format
}

/// Makes the file of a new prompt in a directory, and the folders that it needs; gives its path.
///
/// `name` is as [`new_name`] gives it, or that of a built-in prompt. What is there stays as it is, a file that appears in the
/// same moment included.
///
/// # Errors
/// There is such a file, in any spelling of its ending, or it cannot be written. Then there is nothing new but perhaps
/// folders.
pub(crate) fn create(directory: &Path, name: &str, text: &str) -> Result<PathBuf, CreateError> {
    let any = Dir::new(directory.to_owned(), true);
    let is_of_project = directory.file_name().is_some_and(|folder| folder == FOLDER);
    let dir = if is_of_project { Dir::of_project(directory.to_owned()) } else { any.clone() };
    if let Some(file) = dir.locate(name) {
        return Err(CreateError::Exists(file));
    }
    let path = dir.path_for(name).ok_or_else(|| match any.path_for(name) {
        Some(path) => CreateError::LeadsOut(path),
        None => CreateError::Loop(directory.join(name)),
    })?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| no_folder(folder, error))?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CreateError::Exists(path.clone()),
        _ => CreateError::Io(path.clone(), error),
    })?;
    // In one piece: who looks meanwhile sees all of it, or nothing.
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        let _ = fs::remove_file(&path); // a part of a prompt is worse than none
        CreateError::Io(path.clone(), error)
    })?;
    Ok(path)
}

/// Deletes a file that [`create`] made if it is a file still, and holds nothing but this text, which it was made with. Whether
/// it did.
///
/// # Errors
/// It cannot be deleted.
pub(crate) fn take_back(file: &Path, text: &str) -> io::Result<bool> {
    let is_file = fs::symlink_metadata(file).is_ok_and(|now| now.is_file()); // to read a FIFO is to wait for its writer
    let is_as_made = is_file && fs::read(file).is_ok_and(|now| now == text.as_bytes());
    if is_as_made {
        fs::remove_file(file)?;
    }
    Ok(is_as_made)
}

/// Why a folder could not be made: the first step on the way to it that is none, or what the system says.
fn no_folder(folder: &Path, error: io::Error) -> CreateError {
    let mut steps: Vec<&Path> = folder.ancestors().collect();
    steps.reverse();
    let obstacle = steps.into_iter().find(|step| fs::symlink_metadata(step).is_ok() && !step.is_dir());
    match obstacle {
        Some(step) if error.kind() != ErrorKind::PermissionDenied => CreateError::NoFolder(step.to_owned()),
        _ => CreateError::Io(folder.to_owned(), error),
    }
}

#[cfg(test)]
mod tests {
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
            ("nul", "keeps `nul`"),
            ("git/CON.x", "keeps `con`"),
            ("COM¹", "keeps `com¹`"),
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
    fn what_was_made_is_taken_back_only_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = create(folder.path(), "git/a", "Text.\n").unwrap();
        assert_eq!(Standing::of(&file), Standing::There);
        fs::write(&file, "Text.").unwrap();
        assert!(!take_back(&file, "Text.\n").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"Text.");
        assert!(take_back(&file, "Text.").unwrap());
        assert_eq!(Standing::of(&file), Standing::Gone);
        assert!(!take_back(&file, "Text.").unwrap());
        fs::create_dir(&file).unwrap();
        assert!(!take_back(&file, "Text.").unwrap());
        assert_eq!(Standing::of(&file), Standing::Folder);
        #[cfg(unix)]
        {
            let (target, link) = (folder.path().join("target"), folder.path().join("link.md"));
            fs::write(&target, "Text.").unwrap();
            std::os::unix::fs::symlink(&target, &link).unwrap();
            assert!(!take_back(&link, "Text.").unwrap());
            assert_eq!((Standing::of(&link), Standing::of(&target)), (Standing::There, Standing::There));
        }
    }

    #[test]
    fn the_problems_of_a_file_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| create(folder.path(), name, "---\n").unwrap());
        fs::write(&c, "Text.").unwrap();
        let library = Library::named([folder.path().to_owned()]);
        for (file, want) in [(&a, vec!["a.md"]), (&b, vec!["b.md"]), (&c, vec![])] {
            let problems = library.problems_of(file);
            assert_eq!(problems.iter().map(|problem| problem.file.as_str()).collect::<Vec<_>>(), want);
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_editor_gets_files_and_nothing_outside_of_a_project() {
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
        let project = Library::default().with_project(folder.path(), None);
        let named = Library::named([prompts.clone()]);
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
