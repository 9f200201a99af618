//! The files of an agent: read, edited as text, and written in one step.

use super::edit::{Position, Syntax, SyntaxError};
use super::registration::kind;
use super::{Agent, HookLine, HookPlace, Registration, Scope, System};
use crate::wording::printable;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The longest file that is read, in bytes. (Claude Code has its history in its config, which may grow to megabytes.)
const MAX_FILE: usize = 64 * 1024 * 1024;

/// Follows the name of a file in the name of the backup of its state before the first change.
const FIRST_BACKUP: &str = "before-prompt-expander";

/// The same for the state before the last change, from the second change on.
const LAST_BACKUP: &str = "previous-prompt-expander";

/// How many symlinks a path may go through.
const MAX_LINKS: usize = 40;

/// A byte order mark, which some editors put before a text.
const BOM: char = '\u{feff}';

/// A file of an agent: its present text, and the text to be written.
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
    /// Whether only the user may read a new file.
    pub(super) is_private: bool,
    /// Whether something that `install` adds was in it when it was read.
    pub(super) is_installed: bool,
    /// Whether `install` made it, and nothing else is in it.
    pub(super) is_made_by_install: bool,
    /// The backups that are removed when the edited text is written, because it is what they have.
    pub obsolete_backups: Vec<PathBuf>,
}

/// Why a file cannot be read or changed, or what in it the agent cannot understand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// The position in it.
    pub position: Option<Position>,
    /// What is wrong, in lower case.
    pub message: String,
}

impl ConfigError {
    pub(super) fn new(path: &Path, message: impl Into<String>) -> ConfigError {
        ConfigError { path: path.to_owned(), position: None, message: message.into() }
    }

    fn at(path: &Path, SyntaxError { position, message }: SyntaxError) -> ConfigError {
        ConfigError { path: path.to_owned(), position: Some(position), message }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", printable(&self.path.display().to_string()))?;
        if let Some(position) = self.position {
            write!(f, "{position}:")?;
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

// Reading and editing.
impl ConfigFile {
    /// Reads a file. `None`: it does not exist.
    pub(super) fn read(path: PathBuf, syntax: Syntax, scope: Scope) -> Result<Option<ConfigFile>, ConfigError> {
        let Some(text) = read_text(&path)? else { return Ok(None) };
        let value = syntax.parse(without_bom(&text)).map_err(|error| ConfigError::at(&path, error))?;
        let file = ConfigFile {
            original: Some(text.clone()),
            edited: Some(text),
            value,
            ..ConfigFile::absent(path, syntax, scope)
        };
        if !file.value.is_object() {
            return Err(file.error(&[], &format!("it must be an object, but is {}", kind(&file.value))));
        }
        Ok(Some(file))
    }

    /// A file that does not exist.
    pub(super) fn absent(path: PathBuf, syntax: Syntax, scope: Scope) -> ConfigFile {
        ConfigFile {
            path,
            scope,
            original: None,
            edited: None,
            value: Value::Null,
            syntax,
            template: "{}",
            is_private: false,
            is_installed: false,
            is_made_by_install: false,
            obsolete_backups: Vec::new(),
        }
    }

    /// The position of the last of these keys, if it exists.
    pub fn position(&self, keys: &[&str]) -> Option<Position> {
        let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        self.syntax.position(self.text(), &keys)
    }

    /// The position of each key of the object at the end of these keys.
    pub(super) fn positions(&self, keys: &[String]) -> BTreeMap<String, Position> {
        self.syntax.positions(self.text(), keys)
    }

    /// An error at the end of these keys.
    pub(super) fn error(&self, keys: &[String], message: &str) -> ConfigError {
        let position = self.syntax.position(self.text(), keys);
        ConfigError { path: self.path.clone(), position, message: message.to_owned() }
    }

    fn text(&self) -> &str {
        without_bom(self.original.as_deref().unwrap_or_default())
    }

    /// Edits the text of the file; one that does not exist begins as the template.
    pub(super) fn edit(
        &mut self,
        edit: impl Fn(&str, Syntax) -> Result<String, SyntaxError>,
    ) -> Result<(), ConfigError> {
        let edited = self.edit_text(self.edited.as_deref().unwrap_or(self.template), &edit).map_err(|error| {
            // After another edit, the position would be that in the edited text.
            let of_original = self.original.as_ref().and_then(|_| edit(self.text(), self.syntax).err());
            ConfigError::at(&self.path, of_original.unwrap_or(error))
        })?;
        self.edited = Some(edited);
        Ok(())
    }

    /// Another text of the file, edited; its byte order mark stays.
    pub(super) fn edit_text(
        &self,
        text: &str,
        edit: impl Fn(&str, Syntax) -> Result<String, SyntaxError>,
    ) -> Result<String, SyntaxError> {
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
}

// Writing.
impl ConfigFile {
    /// The file that is written, after all symlinks are followed.
    ///
    /// # Errors
    /// It is clear without trying that it cannot be written.
    pub fn target(&self) -> Result<PathBuf, ConfigError> {
        let mut target = self.path.clone();
        for _ in 0..MAX_LINKS {
            let Ok(link) = fs::read_link(&target) else {
                // Also for root, whom permissions would not stop: the file is read-only for a reason.
                let is_readonly = fs::metadata(&target).is_ok_and(|file| file.permissions().readonly());
                let opened = fs::OpenOptions::new().write(true).open(&target);
                if is_readonly || opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
                    let message = "it is read-only; make it writable, or change it where it is generated";
                    return Err(ConfigError::new(&target, message));
                }
                return Ok(target);
            };
            target = target.parent().unwrap_or(Path::new("")).join(link);
        }
        Err(ConfigError::new(&self.path, "its symlinks form a cycle; remove it, or link it to a file"))
    }

    /// Writes the edited text, or removes the file. Returns the backup of the original, if one is needed; then that of an earlier
    /// original, if it was moved.
    ///
    /// # Errors
    /// It cannot be written, or it has changed since it was read. It then stays as it is.
    pub fn write(&self) -> Result<Vec<PathBuf>, ConfigError> {
        let target = self.target()?;
        let new = self.edited.as_ref().map(|text| self.temporary(text, &target, &target)).transpose()?;
        self.check_unchanged()?;
        let backups = match &self.original {
            Some(original) if self.obsolete_backups.is_empty() && new.is_some() => self.back_up(original, &target)?,
            _ => Vec::new(),
        };
        self.check_unchanged()?; // once more, as late as possible; the backup stays, since another process may rely on it
        let failed = |what: &str, error: io::Error| {
            ConfigError::new(&target, format!("{what}: {error}; nothing in it is changed"))
        };
        match new {
            Some(new) => _ = new.persist(&target).map_err(|error| failed("it cannot be written", error.error))?,
            None => fs::remove_file(&target).map_err(|error| failed("it cannot be removed", error))?,
        }
        // If these cannot be removed, they do no harm.
        self.obsolete_backups.iter().for_each(|backup| _ = fs::remove_file(backup));
        Ok(backups)
    }

    fn check_unchanged(&self) -> Result<(), ConfigError> {
        if read_text(&self.path)? == self.original {
            return Ok(());
        }
        let message = "the file changed while it was being edited, so it was not written; run the command again";
        Err(ConfigError::new(&self.path, message))
    }

    /// A file next to the target, which is to replace it, with the owner and the permissions of another file.
    fn temporary(&self, text: &str, target: &Path, other: &Path) -> Result<tempfile::NamedTempFile, ConfigError> {
        let folder = target.parent().unwrap_or(Path::new(""));
        let failed = |error: io::Error| {
            let fix = if error.kind() == ErrorKind::PermissionDenied { "; make the folder writable" } else { "" };
            ConfigError::new(folder, format!("no file can be written there: {error}; nothing is changed{fix}"))
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
        let file = builder.tempfile_in(folder).map_err(failed)?;
        fill(file.as_file(), text, other).map_err(failed)?;
        Ok(file)
    }

    /// Writes the original into a file next to this one, and returns its path. If nothing that `install` adds is in the original,
    /// it is the state before a first change. The backup of an earlier such state then becomes that of the state before the last
    /// change, and is returned too.
    fn back_up(&self, original: &str, target: &Path) -> Result<Vec<PathBuf>, ConfigError> {
        let [first, last] = self.backup_paths();
        let failed = |path: &Path, error: io::Error| {
            ConfigError::new(path, format!("the backup cannot be written: {error}; nothing is changed"))
        };
        if !self.is_made_by_install {
            let new = self.temporary(original, &first, target)?;
            let mut written = vec![first.clone()];
            if let Some(earlier) = self.backup(&first).filter(|_| !self.is_installed) {
                if earlier == original {
                    return Ok(written);
                }
                fs::rename(&first, &last).map_err(|error| failed(&last, error))?;
                written.push(last.clone());
            }
            match new.persist_noclobber(&first) {
                Ok(_) => return Ok(written),
                Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&first, error.error)),
            }
        }
        let new = self.temporary(original, &last, target)?;
        new.persist(&last).map_err(|error| failed(&last, error.error))?;
        Ok(vec![last])
    }

    /// The backup of the state before the first change, and that of the state before the last one.
    pub(super) fn backup_paths(&self) -> [PathBuf; 2] {
        [FIRST_BACKUP, LAST_BACKUP].map(|ending| {
            let mut name = self.path.as_os_str().to_owned();
            name.push(format!(".{ending}"));
            name.into()
        })
    }

    /// The text of a backup of the file; `None`: it does not exist, or cannot be read.
    pub(super) fn backup(&self, path: &Path) -> Option<String> {
        read_text(path).ok().flatten()
    }
}

/// Writes a text into a new file, to the disk, with the owner and the permissions of another file. If that does not exist, the owner
/// of the folder becomes its owner, as when root installs for a user.
fn fill(mut file: &fs::File, text: &str, other: &Path) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    if let Ok(other) = fs::metadata(other) {
        set_owner(file, &other)?;
        file.set_permissions(other.permissions())?;
    } else if let Some(folder) = other.parent().and_then(|folder| fs::metadata(folder).ok()) {
        let _ = set_owner(file, &folder); // not everyone may
    }
    file.sync_all()
}

#[cfg(unix)]
fn set_owner(file: &fs::File, other: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = file.metadata()?;
    if own.uid() != other.uid() {
        fchown(file, Some(other.uid()), Some(other.gid()))?;
    } else if own.gid() != other.gid() && other.is_file() {
        let _ = fchown(file, None, Some(other.gid())); // the user may have left that group
    }
    Ok(())
}

/// Owners are inherited from the folder.
#[cfg(not(unix))]
fn set_owner(_: &fs::File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// The text of a file. `None`: there is no such file.
fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    let unreadable = |error: io::Error| ConfigError::new(path, format!("it cannot be read: {error}"));
    let metadata = match fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        read => read.map_err(unreadable)?,
    };
    if metadata.is_dir() {
        return Err(ConfigError::new(path, "it is a directory, and must be a file"));
    }
    if !metadata.is_file() {
        return Err(ConfigError::new(path, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > MAX_FILE {
        return Err(ConfigError::new(path, format!("it is longer than {} MiB, the limit", MAX_FILE / 1024 / 1024)));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let position = Position::of(valid.len(), &String::from_utf8_lossy(valid));
        let message = "it is not UTF-8; save it as UTF-8 in your editor".to_owned();
        ConfigError::at(path, SyntaxError { position, message })
    })
}

fn without_bom(text: &str) -> &str {
    text.strip_prefix(BOM).unwrap_or(text)
}

/// Whether two paths name the same file, directly or through symlinks.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// All files of an agent that register servers or hooks, each read once.
#[derive(Debug)]
pub struct AgentFiles<'s> {
    /// The agent.
    pub agent: &'static Agent,
    pub(super) system: &'s System,
    /// Those that exist, or why one cannot be read.
    files: BTreeMap<PathBuf, Result<ConfigFile, ConfigError>>,
}

impl Agent {
    /// Reads its files, the user's and the project's.
    pub fn read_files<'s>(&'static self, system: &'s System) -> AgentFiles<'s> {
        let mut files = BTreeMap::new();
        // The user's come first: in the home directory, the project's files would be the same.
        for scope in [Scope::User, Scope::Project] {
            let configs = self.config_paths(scope, system).into_iter().map(|path| (path, self.config.syntax));
            let hooks = self
                .hook
                .iter()
                .flat_map(|hook| self.hook_paths(scope, system).into_iter().map(move |path| (path, hook.syntax)));
            for (path, syntax) in configs.chain(hooks) {
                if !files.contains_key(&path)
                    && let Some(file) = ConfigFile::read(path.clone(), syntax, scope).transpose()
                {
                    files.insert(path, file);
                }
            }
        }
        AgentFiles { agent: self, system, files }
    }
}

impl AgentFiles<'_> {
    /// The file of this path, if it is one of them and exists.
    pub(super) fn at(&self, path: &Path) -> Option<Result<&ConfigFile, &ConfigError>> {
        self.files.get(path).map(Result::as_ref)
    }

    /// The files that register servers for a scope, the one that takes precedence first; or why one cannot be read. Where the
    /// project's files are the user's, as in the home directory, they are only the user's.
    pub fn configs(&self, scope: Scope) -> impl Iterator<Item = Result<&ConfigFile, &ConfigError>> {
        self.of_scope(scope, Agent::config_paths)
    }

    /// The same for those that have hooks and other settings, of both scopes.
    pub fn settings(&self) -> impl Iterator<Item = Result<&ConfigFile, &ConfigError>> {
        let is_project_first = self.agent.hook.as_ref().is_some_and(|hook| hook.is_project_first);
        let scopes = if is_project_first { [Scope::Project, Scope::User] } else { [Scope::User, Scope::Project] };
        scopes.into_iter().flat_map(|scope| self.of_scope(scope, Agent::hook_paths))
    }

    fn of_scope(
        &self,
        scope: Scope,
        paths: fn(&Agent, Scope, &System) -> Vec<PathBuf>,
    ) -> impl Iterator<Item = Result<&ConfigFile, &ConfigError>> {
        let of = |scope| paths(self.agent, scope, self.system);
        let users = if scope == Scope::Project { of(Scope::User) } else { Vec::new() };
        let own = of(scope).into_iter().filter(move |path| !users.iter().any(|user| is_same_file(user, path)));
        own.filter_map(|path| self.at(&path))
    }

    /// The servers of these scopes, in their order; and why a file could not be read.
    pub fn registrations(&self, scopes: [Scope; 3]) -> (Vec<Registration>, Vec<ConfigError>) {
        let (mut registrations, mut errors) = (Vec::new(), Vec::new());
        let mut seen: Vec<(Scope, &Path)> = Vec::new();
        for scope in scopes {
            for file in self.configs(scope) {
                let read = file.map_err(Clone::clone);
                match read.and_then(|file| Ok((self.agent.registrations(file, scope, self.system)?, &file.path))) {
                    // Two names of one file.
                    Ok((_, path)) if seen.iter().any(|seen| seen.0 == scope && is_same_file(seen.1, path)) => {}
                    Ok((servers, path)) => {
                        seen.push((scope, path));
                        registrations.extend(servers);
                    }
                    // A file may be read for two scopes.
                    Err(error) if errors.contains(&error) => {}
                    Err(error) => errors.push(error),
                }
            }
        }
        (registrations, errors)
    }

    /// The hooks of a file that run prompt-expander.
    pub fn hooks_in(&self, file: &ConfigFile) -> Vec<HookLine> {
        let Some(hook) = &self.agent.hook else { return Vec::new() };
        let position = file.position(&["hooks", hook.event]);
        HookLine::all_in(file, hook.event, position).filter(HookLine::is_prompt_expander).collect()
    }

    /// The hooks of a scope that run prompt-expander, and why a file could not be read.
    pub(super) fn hooks(&self, scope: Scope) -> (Vec<HookLine>, Vec<&ConfigError>) {
        let (mut hooks, mut errors) = (Vec::new(), Vec::new());
        for file in self.of_scope(scope, Agent::hook_paths) {
            match file {
                Ok(file) => hooks.extend(self.hooks_in(file)),
                Err(error) => errors.push(error),
            }
        }
        (hooks, errors)
    }

    /// The agent's record that the user trusts the hook in this place of a file, with the config that has it and its keys there.
    pub(super) fn trust_record(&self, hooks: &Path, place: HookPlace) -> Option<(&ConfigFile, Vec<String>, &Value)> {
        let keys = self.agent.hook.as_ref()?.trust_record?(hooks, place);
        self.configs(Scope::User).flatten().find_map(|file| {
            let record = keys.iter().try_fold(&file.value, |value, key| value.get(key))?;
            Some((file, keys.clone(), record))
        })
    }

    /// Whether a hook that runs prompt-expander is registered in this scope.
    pub fn has_hook(&self, scope: Scope) -> bool {
        !self.hooks(scope).0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_written_and_no_file_appears_next_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        fs::write(&path, "changed").unwrap();
        for edited in [Some("edited".to_owned()), None] {
            let absent = ConfigFile::absent(path.clone(), Syntax::Toml, Scope::User);
            let file = ConfigFile { original: Some("before".to_owned()), edited, ..absent };
            assert!(file.write().unwrap_err().message.starts_with("the file changed while it was being edited"));
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "changed");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    /// A config with the text `a` that is to be `b`.
    fn edited(folder: &Path) -> ConfigFile {
        let path = folder.join("config");
        fs::write(&path, "a").unwrap();
        let (original, edited) = (Some("a".to_owned()), Some("b".to_owned()));
        ConfigFile { original, edited, ..ConfigFile::absent(path, Syntax::Toml, Scope::User) }
    }

    #[cfg(unix)]
    #[test]
    fn whatever_has_the_name_of_the_first_backup_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = edited(folder.path());
        let [first, last] = file.backup_paths();
        rustix::fs::mknodat(rustix::fs::CWD, &first, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        for earlier in [None, Some("earlier")] {
            earlier.iter().for_each(|text| fs::write(&last, text).unwrap());
            fs::write(&file.path, "a").unwrap();
            assert_eq!(file.write().unwrap(), std::slice::from_ref(&last));
            assert_eq!(fs::read_to_string(&last).unwrap(), "a");
            assert!(!fs::metadata(&first).unwrap().is_file());
        }
    }

    #[test]
    fn a_file_is_not_written_without_a_backup() {
        let folder = tempfile::tempdir().unwrap();
        let file = edited(folder.path());
        let [first, last] = file.backup_paths();
        fs::write(first, "another").unwrap();
        fs::create_dir(last).unwrap();
        let error = file.write().unwrap_err().to_string();
        assert!(error.contains("the backup cannot be written: "), "{error}");
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "a");
    }

    #[test]
    fn a_file_is_not_written_when_the_names_of_its_backups_are_too_long() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = edited(folder.path());
        file.path = folder.path().join("x".repeat(250));
        fs::write(&file.path, "a").unwrap();
        let error = file.write().unwrap_err().to_string();
        assert!(error.contains("the backup cannot be written: "), "{error}");
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "a");
    }

    #[test]
    fn a_path_without_a_file_is_no_error_and_a_directory_is() {
        let read = |path: &str| ConfigFile::read(path.into(), Syntax::Toml, Scope::User);
        assert!(read("/nowhere/config.toml").unwrap().is_none());
        assert!(read(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml/config.toml")).unwrap().is_none());
        assert!(read(env!("CARGO_MANIFEST_DIR")).unwrap_err().message.contains("a directory"));
    }

    /// The scopes of the servers, and of the hooks.
    fn scopes(home: &Path, project: &Path) -> (Vec<Scope>, Vec<Scope>) {
        let system = System { home: Some(home.to_owned()), project: project.to_owned(), ..System::default() };
        let files = Agent::named("gemini").unwrap().read_files(&system);
        let both = || [Scope::Project, Scope::User].into_iter();
        let servers = both().flat_map(|scope| {
            let configs = files.configs(scope).flatten();
            configs.flat_map(|file| files.agent.registrations(file, scope, &system).unwrap()).collect::<Vec<_>>()
        });
        let hooks = both().flat_map(|scope| files.hooks(scope).0);
        (servers.map(|server| server.scope).collect(), hooks.map(|hook| hook.scope).collect())
    }

    #[test]
    fn in_the_home_directory_the_user_s_files_are_not_also_those_of_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        let text = r#"{"mcpServers": {"prompts": {"command": "x"}},
            "hooks": {"BeforeAgent": [{"hooks": [{"command": "prompt-expander hook gemini"}]}]}}"#;
        for folder in [&home, &project] {
            fs::create_dir_all(folder.join(".gemini")).unwrap();
            fs::write(folder.join(".gemini/settings.json"), text).unwrap();
        }
        let both = vec![Scope::Project, Scope::User];
        assert_eq!(scopes(&home, &project), (both.clone(), both));
        assert_eq!(scopes(&home, &home), (vec![Scope::User], vec![Scope::User]));
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&home, &link).unwrap();
            assert_eq!(scopes(&home, &link), (vec![Scope::User], vec![Scope::User]));
        }
    }

    #[test]
    fn one_file_has_the_user_s_servers_for_all_projects_and_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let text =
            r#"{"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"mcpServers": {"b": {"command": "y"}}}}}"#;
        fs::write(folder.path().join(".claude.json"), text).unwrap();
        let system = System { home: Some(folder.path().to_owned()), project: "/p".into(), ..System::default() };
        let files = Agent::named("claude-code").unwrap().read_files(&system);
        for (scope, want) in [(Scope::User, "a"), (Scope::Local, "b")] {
            let file = files.configs(scope).next().unwrap().unwrap();
            let servers = files.agent.registrations(file, scope, &system).unwrap();
            let servers: Vec<_> = servers.iter().map(|server| (server.name.as_str(), server.scope)).collect();
            assert_eq!(servers, [(want, scope)]);
        }
        assert_eq!(files.files.len(), 1);
    }
}
