//! How a config is written: beside itself, in one step, and only if it still is what was read.

use super::ConfigError;
use super::config::read_text;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// What is put behind the name of a file for what it was before.
const BACKUP: &str = "before-prompt-expander";

/// How many links a path may go through.
const MAX_LINKS: usize = 40;

/// A change of one file that is not made yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The file, as the client names it; it may be a link.
    pub path: PathBuf,
    /// What it holds. `None`: it is not there.
    pub before: Option<String>,
    /// What it is to hold. `None`: it is to be removed.
    pub after: Option<String>,
    /// Whether only the user may read it, if it is not there yet.
    pub(super) is_private: bool,
    /// The folder that goes with the file, if nothing else is in it.
    pub(super) folder: Option<PathBuf>,
    /// Backups that are of no use once it is made, since it brings back what they hold.
    pub(super) redundant: Vec<PathBuf>,
}

impl Change {
    /// The file that is written, behind all links.
    ///
    /// An error if it cannot be, as far as one can tell without writing.
    pub fn target(&self) -> Result<PathBuf, ConfigError> {
        let mut target = self.path.clone();
        for _ in 0..MAX_LINKS {
            match fs::read_link(&target) {
                Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
                Err(_) => {
                    // Also for root, whom nothing else would stop: somebody made it read-only for a reason.
                    let is_readonly = fs::metadata(&target).is_ok_and(|file| file.permissions().readonly());
                    let opened = fs::OpenOptions::new().write(true).open(&target);
                    let denied = |error: std::io::Error| error.kind() == ErrorKind::PermissionDenied;
                    if is_readonly || opened.is_err_and(denied) {
                        let message = "it is read-only; make it writable, or change it where it is made from";
                        return Err(ConfigError::without_position(&target, message));
                    }
                    return Ok(target);
                }
            }
        }
        Err(ConfigError::without_position(&self.path, "its links lead in a circle; remove it, or let it name a file"))
    }

    /// Makes it. Gives the file that holds what was there before, if there was something that is nowhere else.
    pub fn make(&self) -> Result<Option<PathBuf>, ConfigError> {
        let target = self.target()?;
        let draft = self.after.as_ref().map(|after| self.draft(after, &target)).transpose()?;
        self.is_as_read()?; // before anything is left there, and once more at the end
        let backup = match &self.before {
            Some(before) if self.redundant.is_empty() && draft.is_some() => Some(self.back_up(before, &target)?),
            _ => None,
        };
        self.put(draft, &target)?; // the backup stays, for another may rely on it
        // What is left of these does no harm.
        for backup in &self.redundant {
            let _ = fs::remove_file(backup);
        }
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir(folder);
        }
        Ok(backup)
    }

    /// Puts the draft in the place of the file, or removes the file, if it still is what was read.
    fn put(&self, draft: Option<tempfile::NamedTempFile>, target: &Path) -> Result<(), ConfigError> {
        let failed = |what: &str, error: std::io::Error| {
            ConfigError::without_position(target, format!("{what}: {error}; nothing in it is changed"))
        };
        self.is_as_read()?;
        match draft {
            Some(draft) => {
                draft.persist(target).map_err(|error| failed("it cannot be written", error.error))?;
            }
            None => fs::remove_file(target).map_err(|error| failed("it cannot be removed", error))?,
        }
        Ok(())
    }

    /// An error if somebody has changed the file since it was read.
    fn is_as_read(&self) -> Result<(), ConfigError> {
        if read_text(&self.path)? == self.before {
            return Ok(());
        }
        let message = "somebody else has changed it meanwhile; nothing in it is changed, run this again";
        Err(ConfigError::without_position(&self.path, message))
    }

    /// What is to be the file, beside it, with its rights.
    fn draft(&self, text: &str, target: &Path) -> Result<tempfile::NamedTempFile, ConfigError> {
        let folder = target.parent().unwrap_or(Path::new(""));
        let failed = |error: std::io::Error| {
            let remedy = match error.kind() {
                ErrorKind::PermissionDenied => "; make the folder writable",
                _ => "",
            };
            let message = format!("no file can be written there: {error}; nothing is changed{remedy}");
            ConfigError::without_position(folder, message)
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".prompt-expander-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Less the user's umask.
            builder.permissions(fs::Permissions::from_mode(if self.is_private { 0o600 } else { 0o666 }));
        }
        let draft = builder.tempfile_in(folder).map_err(failed)?;
        fill(draft.as_file(), text, target).map_err(failed)?;
        Ok(draft)
    }

    /// Writes what was there into a file beside it; gives its path. A file of another text is never written over.
    fn back_up(&self, before: &str, target: &Path) -> Result<PathBuf, ConfigError> {
        for path in backup_names(&self.path) {
            match fs::read(&path) {
                Ok(bytes) if bytes == before.as_bytes() => return Ok(path),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let failed = |error: std::io::Error| {
                        let message = format!("what was there cannot be kept in it: {error}; nothing is changed");
                        ConfigError::without_position(&path, message)
                    };
                    let mut options = fs::OpenOptions::new();
                    #[cfg(unix)]
                    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                    // Not what somebody else puts there meanwhile.
                    let file = options.write(true).create_new(true).open(&path).map_err(failed)?;
                    if let Err(error) = fill(&file, before, target) {
                        let _ = fs::remove_file(&path); // a part of it would be no backup
                        return Err(failed(error));
                    }
                    return Ok(path);
                }
                _ => {}
            }
        }
        unreachable!("there is always one more name")
    }
}

/// Writes a text into a new file, to the disk, and gives it the owner and the rights of another. If that is not there, it is for
/// the owner of the folder, as when root registers us for a user, and keeps its rights.
fn fill(mut file: &fs::File, text: &str, other: &Path) -> std::io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Ok(other) = fs::metadata(other) {
        keep_owner(file, &other)?;
        file.set_permissions(other.permissions())?;
    } else if let Some(folder) = other.parent().and_then(|folder| fs::metadata(folder).ok()) {
        let _ = keep_owner(file, &folder); // not everybody may
    }
    file.sync_all()
}

/// The backups of a file: each with its text, the oldest first.
pub(super) fn backups(path: &Path) -> Vec<(PathBuf, String)> {
    backup_names(path).map_while(|backup| Some((backup.clone(), read_text(&backup).ok()??))).collect()
}

/// The names of a file's backups, without end.
fn backup_names(path: &Path) -> impl Iterator<Item = PathBuf> {
    (1..).map(move |number: usize| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{BACKUP}"));
        if number > 1 {
            name.push(format!(".{number}"));
        }
        name.into()
    })
}

/// Gives a file to the owner of another, as when root changes the config of a user.
fn keep_owner(file: &fs::File, old: &fs::Metadata) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let new = file.metadata()?;
        if new.uid() != old.uid() {
            fchown(file, Some(old.uid()), Some(old.gid()))?;
        } else if new.gid() != old.gid() && old.is_file() {
            let _ = fchown(file, None, Some(old.gid())); // a group that one has left
        }
    }
    #[cfg(not(unix))]
    {
        _ = (file, old); // it comes from the folder
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_somebody_else_has_changed_is_left_alone_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        fs::write(&path, "theirs").unwrap();
        for after in [Some("ours".to_owned()), None] {
            let before = Some("before".to_owned());
            let change =
                Change { path: path.clone(), before, after, is_private: false, folder: None, redundant: Vec::new() };
            assert!(change.make().unwrap_err().message.starts_with("somebody else has changed it meanwhile"));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
