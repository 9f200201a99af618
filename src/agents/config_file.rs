//! A file of an agent: read, edited as text, and written in one step, with one backup.

use super::edit::Syntax;
use super::environment::Scope;
use crate::prompt::{Diagnostic, Kind, Position};
use crate::whole_file::{self, FileAccess, PendingFile};
use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A byte order mark, which some editors put before a text.
const BOM: char = '\u{feff}';

/// A file of an agent: its current text, and the text to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigFile {
    /// The file, as the agent names it; it may be a link.
    pub path: PathBuf,
    /// For whom the agent reads it.
    pub scope: Scope,
    /// Its text when it was read. `None`: there was no file.
    pub original: Option<String>,
    /// The text to be written. `None`: there should be no file.
    pub edited: Option<String>,
    /// The parsed original.
    pub value: Value,
    pub(super) syntax: Syntax,
    /// What a new file contains.
    pub(super) template: &'static str,
    /// What becomes of the backup when the edited text is written.
    pub backup: Backup,
}

/// What becomes of the backup of a file, `FILE.before-prompt-expander`: its state before the first
/// change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    /// None is needed.
    None,
    /// The original is the state before the first change, unless there is a backup already.
    Keep,
    /// The original is the state before the first change: nothing that `install` adds is in it.
    Replace,
    /// The file is again what the backup is.
    Remove,
}

// Reading and editing.
impl ConfigFile {
    /// Reads a file. `None`: it does not exist.
    pub(super) fn read(
        path: &Path,
        syntax: Syntax,
        scope: Scope,
    ) -> Result<Option<ConfigFile>, Diagnostic> {
        let Some(text) = read_text(path)? else {
            return Ok(None);
        };
        let value = syntax
            .parse(without_bom(&text))
            .map_err(|error| error.in_file(path))?;
        if !value.is_object() {
            let error = Diagnostic::new(
                Kind::Invalid,
                "it must be an object, but is not",
                "correct it",
            );
            return Err(error.at(Position::in_text("", 0, 1)).in_file(path));
        }
        let absent = ConfigFile::absent(path.to_owned(), syntax, scope);
        Ok(Some(ConfigFile {
            original: Some(text.clone()),
            edited: Some(text),
            value,
            ..absent
        }))
    }

    /// A file that does not exist.
    pub(super) fn absent(path: PathBuf, syntax: Syntax, scope: Scope) -> ConfigFile {
        let (original, edited, template) = (None, None, "{}");
        ConfigFile {
            path,
            scope,
            original,
            edited,
            value: Value::Null,
            syntax,
            template,
            backup: Backup::Keep,
        }
    }

    /// The settings file of this program, of which no backup is kept.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn settings(path: PathBuf) -> Result<ConfigFile, Diagnostic> {
        let original = read_text(&path)?;
        let absent = ConfigFile::absent(path, Syntax::Toml, Scope::User);
        Ok(ConfigFile {
            edited: original.clone(),
            original,
            backup: Backup::None,
            ..absent
        })
    }

    /// The position of the last of these keys, if it exists.
    pub fn position(&self, keys: &[impl AsRef<str>]) -> Option<Position> {
        let keys: Vec<String> = keys.iter().map(|key| key.as_ref().to_owned()).collect();
        self.syntax.position(self.texts()[0], &keys)
    }

    /// Edits the text of the file; one that does not exist begins as the template.
    pub(super) fn edit(
        &mut self,
        edit: impl Fn(&str, Syntax) -> Result<String, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let text = self.edited.as_deref().unwrap_or(self.template);
        self.edited = Some(
            self.edit_text(text, edit)
                .map_err(|error| error.in_file(&*self.path))?,
        );
        Ok(())
    }

    /// Another text of the file, edited; its byte order mark stays.
    pub(super) fn edit_text(
        &self,
        text: &str,
        edit: impl Fn(&str, Syntax) -> Result<String, Diagnostic>,
    ) -> Result<String, Diagnostic> {
        let bom = &text[..text.len() - without_bom(text).len()];
        Ok(format!("{bom}{}", edit(without_bom(text), self.syntax)?))
    }

    /// Another text of the file, parsed; null if that fails.
    pub(super) fn parse(&self, text: &str) -> Value {
        self.syntax.parse(without_bom(text)).unwrap_or_default()
    }

    /// Whether there is something to write.
    pub fn is_edited(&self) -> bool {
        self.edited != self.original
    }

    /// The original and the edited text, without byte order mark; empty if there is no file.
    pub fn texts(&self) -> [&str; 2] {
        [&self.original, &self.edited].map(|text| text.as_deref().map_or("", without_bom))
    }

    /// The file of the backup.
    pub fn backup_path(&self) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(".before-prompt-expander");
        name.into()
    }

    /// The text of the backup; `None`: it does not exist, or cannot be read.
    pub(super) fn backup_text(&self) -> Option<String> {
        read_text(&self.backup_path()).ok().flatten()
    }
}

// Writing.
impl ConfigFile {
    /// The file that is written: where symlinks lead.
    ///
    /// # Errors
    /// It is clear without trying that it cannot be written.
    pub fn target(&self) -> Result<PathBuf, Diagnostic> {
        let target = whole_file::target(&self.path).map_err(|error| {
            let fix = "point the link at a file that exists, or delete it";
            Diagnostic::new(Kind::NotWritable, error.to_string(), fix).in_file(&*self.path)
        })?;
        // Root is stopped, too, although permissions would not do so: the file is read-only for a
        // reason.
        let is_readonly = fs::metadata(&target).is_ok_and(|file| file.permissions().readonly());
        let opened = fs::OpenOptions::new().write(true).open(&target);
        if is_readonly || opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
            let fix = "make it writable, or change it where it is generated";
            return Err(
                Diagnostic::new(Kind::NotWritable, "it is read-only", fix).in_file(&*target)
            );
        }
        Ok(target)
    }

    /// Writes the edited text, or removes the file.
    ///
    /// # Errors
    /// It cannot be written, or it has changed since it was read. It then stays as it is.
    pub fn write(&self) -> Result<(), Diagnostic> {
        let target = self.target()?;
        let new = match &self.edited {
            Some(text) => Some(self.pending(text, &target)?),
            None => None,
        };
        self.check_unchanged()?;
        if let Some(original) = &self.original {
            self.back_up(original)?;
        }
        self.check_unchanged()?; // once more, as late as possible; the backup stays, since another process may rely on it
        let written = match new {
            Some(new) => new.replace(),
            None => fs::remove_file(&target),
        };
        written.map_err(|error| not_writable(error.to_string(), &target))?;
        if self.backup == Backup::Remove {
            let _ = fs::remove_file(self.backup_path()); // it does no harm
        }
        Ok(())
    }

    fn check_unchanged(&self) -> Result<(), Diagnostic> {
        if read_text(&self.path)? == self.original {
            return Ok(());
        }
        let message = "the file changed while it was being edited, so it was not written";
        Err(
            Diagnostic::new(Kind::NotWritable, message, "run the command again")
                .in_file(&*self.path),
        )
    }

    /// Writes the text that will replace the target.
    fn pending(&self, text: &str, target: &Path) -> Result<PendingFile, Diagnostic> {
        let existing = fs::metadata(target).ok();
        let access = match &existing {
            Some(existing) => FileAccess::SameAs(existing),
            // What a project has is for everyone who works on it.
            None if self.scope == Scope::Project => FileAccess::Shared,
            None => FileAccess::Private,
        };
        PendingFile::write(target, text.as_bytes(), access)
            .map_err(|error| not_written(target, &error))
    }

    /// Writes the original into the backup, if one is needed.
    fn back_up(&self, original: &str) -> Result<(), Diagnostic> {
        let path = self.backup_path();
        if self.backup == Backup::None || self.backup == Backup::Remove {
            return Ok(());
        }
        let written = match PendingFile::write(&path, original.as_bytes(), FileAccess::Private) {
            Ok(new) if self.backup == Backup::Replace => new.replace(),
            Ok(new) => new.create(),
            Err(error) => Err(error),
        };
        match written {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                Err(not_written(&path, &error))
            }
            _ => Ok(()),
        }
    }
}

fn not_written(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("it cannot be written: {error}; the config is not changed");
    not_writable(message, path)
}

fn not_writable(message: String, path: &Path) -> Diagnostic {
    let fix = "make the file and its folder writable";
    Diagnostic::new(Kind::NotWritable, message, fix).in_file(path)
}

/// The text of a file. `None`: there is no such file.
fn read_text(path: &Path) -> Result<Option<String>, Diagnostic> {
    let failed = |message: &str, fix: &str| {
        Err(Diagnostic::new(Kind::Unreadable, message, fix).in_file(path))
    };
    match whole_file::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) => match error.kind() {
            ErrorKind::InvalidInput => {
                failed(&error.to_string(), "remove it, or give it another name")
            }
            ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
            ErrorKind::InvalidData => failed("it is not UTF-8", "save it as UTF-8 in your editor"),
            _ => failed(&format!("it cannot be read: {error}"), "make it readable"),
        },
    }
}

fn without_bom(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
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
            ..ConfigFile::absent(path, Syntax::Toml, Scope::User)
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

    /// Root starts the other user's process, so that others skip this.
    #[cfg(unix)]
    #[test]
    fn another_user_who_watches_the_folder_never_reads_a_secret() {
        use std::io::{BufRead as _, BufReader, Read as _};
        use std::os::unix::fs::PermissionsExt;
        use std::process::{Command, Stdio};
        const WATCH: &str = r#"
            $| = 1; chdir shift; print "watching\n";
            while (1) { for (glob(".prompt-expander-* config*")) {
                if (open(my $file, "<", $_)) { print "read $_\n" if <$file> =~ /secret/ }
            } }"#;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let mut watch = Command::new("setpriv");
        watch.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "perl",
            "-e",
            WATCH,
        ]);
        let mut watcher = watch
            .arg(folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(watcher.stdout.take().unwrap());
        let mut line = String::new();
        if output.read_line(&mut line).unwrap() == 0 {
            watcher.wait().unwrap();
            return;
        }
        let path = folder.path().join("config");
        for count in 0..200 {
            let original = fs::read_to_string(&path).ok();
            let file = ConfigFile {
                original,
                edited: Some(format!("secret {count}")),
                ..ConfigFile::absent(path.clone(), Syntax::Toml, Scope::User)
            };
            file.write().unwrap();
        }
        watcher.kill().unwrap();
        watcher.wait().unwrap();
        let mut reads = String::new();
        output.read_to_string(&mut reads).unwrap();
        assert_eq!(reads, "");
    }

    #[test]
    fn a_path_without_a_file_is_no_error_and_a_directory_is() {
        let read = |path: &str| ConfigFile::read(Path::new(path), Syntax::Toml, Scope::User);
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
