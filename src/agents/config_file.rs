//! Reads a config file, edits it in memory, and writes it atomically with a backup.

use super::config_text::ConfigSyntax;
use super::environment::Scope;
use crate::input::without_bom;
use crate::prompt::{Diagnostic, Kind, Position};
use crate::whole_file::{self, FileAccess, PendingFile};
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A config file: the text that was read, and the text to write.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigFile {
    /// The path of the file, which may be a symlink.
    pub path: PathBuf,
    /// Where its registrations are active.
    pub scope: Scope,
    /// The text when the file was read, or `None` if it didn't exist.
    pub original: Option<String>,
    /// The text to write, or `None` to delete the file or not to create it.
    pub edited: Option<String>,
    /// The parsed original; null if the file didn't exist, or was not parsed.
    pub value: Value,
    pub(super) syntax: ConfigSyntax,
    /// The contents of a new file, before any edit.
    pub(super) template: &'static str,
    /// What to do with the backup when the edited text is written.
    pub backup: Backup,
}

/// What to do with the backup of a file when it is written. The backup,
/// `FILE.before-prompt-expander`, is the file as it was before `install` first changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// Don't create one.
    None,
    /// Back up the original, unless there is a backup already.
    Keep,
    /// Back up the original, and replace an existing backup, which is outdated.
    Replace,
    /// Delete the backup, because the edited text restores it.
    Remove,
}

// Reading and editing.
impl ConfigFile {
    /// Reads and parses a file. Returns `None` if it doesn't exist.
    ///
    /// # Errors
    /// Fails if it can't be read, is invalid, or isn't an object at the top level.
    pub(super) fn read(
        path: &Path,
        syntax: ConfigSyntax,
        scope: Scope,
    ) -> Result<Option<ConfigFile>, Diagnostic> {
        let Some(text) = read_text(path)? else {
            return Ok(None);
        };
        let value = syntax
            .parse(without_bom(&text))
            .map_err(|error| error.in_file(path))?;
        if !value.is_object() {
            let message = "it must be an object, but is not";
            let error = Diagnostic::new(Kind::Invalid, message, "correct it");
            let start_of_file = Position::in_file_text("", 0);
            return Err(error.with_position(start_of_file).in_file(path));
        }
        Ok(Some(ConfigFile {
            original: Some(text.clone()),
            edited: Some(text),
            value,
            ..ConfigFile::absent(path.to_owned(), syntax, scope)
        }))
    }

    /// Returns a file that doesn't exist yet. It is created only if it is edited.
    pub(super) fn absent(path: PathBuf, syntax: ConfigSyntax, scope: Scope) -> ConfigFile {
        ConfigFile {
            path,
            scope,
            original: None,
            edited: None,
            value: Value::Null,
            syntax,
            template: "{}",
            backup: Backup::Keep,
        }
    }

    /// Reads prompt-expander's own settings file without parsing it. It gets no backup, and may not
    /// exist.
    ///
    /// # Errors
    /// Fails if it exists but can't be read.
    pub fn read_settings(path: PathBuf) -> Result<ConfigFile, Diagnostic> {
        let text = read_text(&path)?;
        Ok(ConfigFile {
            edited: text.clone(),
            original: text,
            backup: Backup::None,
            ..ConfigFile::absent(path, ConfigSyntax::Toml, Scope::User)
        })
    }

    /// Returns the position of the last key in a path of keys in the original text, if it exists.
    pub fn position(&self, keys: &[impl AsRef<str>]) -> Option<Position> {
        self.syntax.position(self.original_text(), keys)
    }

    /// Applies an edit to the text to write. A file that doesn't exist starts with its template.
    pub(super) fn edit(
        &mut self,
        edit: impl Fn(&str, ConfigSyntax) -> Result<String, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let text = self.edited.as_deref().unwrap_or(self.template);
        let edited = self.edit_text(text, edit);
        self.edited = Some(edited.map_err(|error| error.in_file(&*self.path))?);
        Ok(())
    }

    /// Applies an edit to a text in the syntax of this file, and returns the edited text. The edit
    /// doesn't see a byte order mark, which is preserved.
    pub(super) fn edit_text(
        &self,
        text: &str,
        edit: impl Fn(&str, ConfigSyntax) -> Result<String, Diagnostic>,
    ) -> Result<String, Diagnostic> {
        let content = without_bom(text);
        let bom = &text[..text.len() - content.len()];
        Ok(format!("{bom}{}", edit(content, self.syntax)?))
    }

    /// Parses a text in the syntax of this file. Returns null if it is invalid.
    pub(super) fn parse(&self, text: &str) -> Value {
        self.syntax.parse(without_bom(text)).unwrap_or_default()
    }

    /// Returns whether the text to write differs from the original.
    pub fn is_edited(&self) -> bool {
        self.edited != self.original
    }

    /// Returns the original text without a byte order mark, or an empty string if the file didn't
    /// exist.
    pub fn original_text(&self) -> &str {
        without_bom(self.original.as_deref().unwrap_or_default())
    }

    /// Returns the text to write without a byte order mark, or an empty string if the file should
    /// not exist.
    pub fn edited_text(&self) -> &str {
        without_bom(self.edited.as_deref().unwrap_or_default())
    }

    /// Returns the path of the backup.
    pub fn backup_path(&self) -> PathBuf {
        backup_path_of(&self.path)
    }

    /// Returns the text of the backup, or `None` if it doesn't exist or can't be read.
    pub(super) fn backup_text(&self) -> Option<String> {
        read_text(&self.backup_path()).ok().flatten()
    }
}

// Writing.
impl ConfigFile {
    /// Returns the path to write to, after following symlinks.
    ///
    /// # Errors
    /// Fails if a symlink is broken, or if the file is read-only.
    pub fn target(&self) -> Result<PathBuf, Diagnostic> {
        let target = whole_file::follow_symlinks(&self.path).map_err(|error| {
            let fix = "point the link at a file that exists, or delete it";
            Diagnostic::new(Kind::NotWritable, error.to_string(), fix).in_file(&*self.path)
        })?;
        if is_read_only(&target) {
            let fix = "make it writable, or change it where it is generated";
            let error = Diagnostic::new(Kind::NotWritable, "it is read-only", fix);
            return Err(error.in_file(&*target));
        }
        Ok(target)
    }

    /// Writes the edited text atomically, or deletes the file if there is none.
    ///
    /// # Errors
    /// Fails if the file can't be written, or has changed since it was read. The file is then left
    /// unchanged.
    pub fn write(&self) -> Result<(), Diagnostic> {
        let target = self.target()?;
        let new_file = match &self.edited {
            Some(text) => Some(self.write_temporary_file(text, &target)?),
            None => None,
        };
        // Check before the backup, so that it isn't created in vain, and again as late as possible.
        // If the second check fails, keep the backup: another process may rely on it.
        self.check_unchanged()?;
        self.back_up()?;
        self.check_unchanged()?;
        let result = match new_file {
            Some(new_file) => new_file.replace(),
            None => fs::remove_file(&target),
        };
        result.map_err(|error| not_writable(error.to_string(), &target))?;
        if self.backup == Backup::Remove {
            let _ = fs::remove_file(self.backup_path()); // a leftover backup does no harm
        }
        Ok(())
    }

    /// Fails if the file has changed since it was read.
    fn check_unchanged(&self) -> Result<(), Diagnostic> {
        if read_text(&self.path)? == self.original {
            return Ok(());
        }
        let message = "the file changed while it was being edited, so it was not written";
        let error = Diagnostic::new(Kind::NotWritable, message, "run the command again");
        Err(error.in_file(&*self.path))
    }

    /// Writes a text to a temporary file that can then replace the target.
    fn write_temporary_file(&self, text: &str, target: &Path) -> Result<PendingFile, Diagnostic> {
        let existing = fs::metadata(target).ok();
        let access = match &existing {
            Some(existing) => FileAccess::SameAs(existing),
            // Everyone who works on a project can read its files.
            None if self.scope == Scope::Project => FileAccess::Shared,
            None => FileAccess::Private,
        };
        PendingFile::write(target, text.as_bytes(), access)
            .map_err(|error| cannot_write(target, &error))
    }

    /// Writes the original to the backup, as [`Backup`] requires.
    fn back_up(&self) -> Result<(), Diagnostic> {
        let Some(original) = &self.original else {
            return Ok(());
        };
        if matches!(self.backup, Backup::None | Backup::Remove) {
            return Ok(());
        }
        let path = self.backup_path();
        let new_backup = PendingFile::write(&path, original.as_bytes(), FileAccess::Private)
            .map_err(|error| cannot_write(&path, &error))?;
        let result = if self.backup == Backup::Replace {
            new_backup.replace()
        } else {
            new_backup.create()
        };
        match result {
            // With `Backup::Keep`, an existing backup is kept.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(cannot_write(&path, &error)),
            Ok(()) => Ok(()),
        }
    }
}

/// Returns the path of the backup of a file: `FILE.before-prompt-expander`.
pub(super) fn backup_path_of(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(".before-prompt-expander");
    path.into()
}

/// Returns whether a file exists and is read-only. Respects the file's permissions even for root,
/// who could write the file anyway: it is read-only for a reason.
fn is_read_only(file: &Path) -> bool {
    if fs::metadata(file).is_ok_and(|metadata| metadata.permissions().readonly()) {
        return true;
    }
    match fs::OpenOptions::new().write(true).open(file) {
        Ok(_) => false,
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

/// Returns the error that a new file can't be written to the folder of the config.
fn cannot_write(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("it cannot be written: {error}; the config is not changed");
    not_writable(message, path)
}

/// Returns an error whose fix is to make the file and its folder writable.
fn not_writable(message: String, path: &Path) -> Diagnostic {
    let fix = "make the file and its folder writable";
    Diagnostic::new(Kind::NotWritable, message, fix).in_file(path)
}

/// Reads a file as text. Returns `None` if it doesn't exist.
fn read_text(path: &Path) -> Result<Option<String>, Diagnostic> {
    let error = match whole_file::read_text(path) {
        Ok(text) => return Ok(Some(text)),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
        // `whole_file` reads only regular files.
        ErrorKind::InvalidInput => {
            let fix = "remove it, or give it another name";
            Err(unreadable(path, error.to_string(), fix))
        }
        ErrorKind::InvalidData => {
            let fix = "save it as UTF-8 in your editor";
            Err(unreadable(path, "it is not UTF-8".to_owned(), fix))
        }
        _ => {
            let message = format!("it cannot be read: {error}");
            Err(unreadable(path, message, "make it readable"))
        }
    }
}

fn unreadable(path: &Path, message: String, fix: &str) -> Diagnostic {
    Diagnostic::new(Kind::Unreadable, message, fix).in_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A config with the text `a` that is to be `b`.
    fn edited(folder: &Path, backup: Backup) -> ConfigFile {
        let path = folder.join("config");
        fs::write(&path, "a").unwrap();
        let (original, edited) = (Some("a".to_owned()), Some("b".to_owned()));
        ConfigFile {
            original,
            edited,
            backup,
            ..ConfigFile::absent(path, ConfigSyntax::Toml, Scope::User)
        }
    }

    #[test]
    fn there_is_one_backup_and_only_a_first_state_replaces_it() {
        for (backup, earlier, left) in [
            (Backup::Keep, None, Some("a")),
            (Backup::Keep, Some("first"), Some("first")),
            (Backup::Replace, Some("first"), Some("a")),
            (Backup::None, None, None),
            (Backup::Remove, Some("b"), None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let file = edited(folder.path(), backup);
            earlier
                .iter()
                .for_each(|text| fs::write(file.backup_path(), text).unwrap());
            file.write().unwrap();
            assert_eq!(fs::read_to_string(&file.path).unwrap(), "b");
            assert_eq!(file.backup_text().as_deref(), left, "{backup:?}");
        }
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_written_and_no_file_appears_next_to_it() {
        let folder = tempfile::tempdir().unwrap();
        for text in [Some("edited".to_owned()), None] {
            let file = ConfigFile {
                edited: text,
                ..edited(folder.path(), Backup::Keep)
            };
            fs::write(&file.path, "changed").unwrap();
            let error = file.write().unwrap_err();
            assert!(
                error
                    .message
                    .starts_with("the file changed while it was being edited"),
                "{error}"
            );
            assert_eq!(fs::read_to_string(&file.path).unwrap(), "changed");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        }
    }

    #[test]
    fn a_file_is_not_written_without_a_backup() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = edited(folder.path(), Backup::Replace);
        file.path = folder.path().join("x".repeat(250));
        fs::write(&file.path, "a").unwrap();
        assert_eq!(file.write().unwrap_err().kind, Kind::NotWritable);
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "a");
    }

    #[cfg(unix)]
    #[test]
    fn a_new_file_of_the_user_is_private_and_one_of_a_project_is_not() {
        use std::os::unix::fs::PermissionsExt as _;
        for (scope, is_private) in [(Scope::User, true), (Scope::Project, false)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("config");
            let file = ConfigFile {
                edited: Some("secret".to_owned()),
                ..ConfigFile::absent(path.clone(), ConfigSyntax::Toml, scope)
            };
            file.write().unwrap();
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o077 == 0, is_private, "{mode:o}");
        }
    }

    #[test]
    fn a_path_without_a_file_is_no_error_and_a_directory_is() {
        let read = |path: &str| ConfigFile::read(Path::new(path), ConfigSyntax::Toml, Scope::User);
        assert!(read("/nowhere/config.toml").unwrap().is_none());
        assert!(
            read(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/Cargo.toml/config.toml"
            ))
            .unwrap()
            .is_none()
        );
        assert_eq!(
            read(env!("CARGO_MANIFEST_DIR")).unwrap_err().message,
            "it is not a regular file"
        );
    }
}
