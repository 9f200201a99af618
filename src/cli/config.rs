//! `config.toml`, the one settings file: the server, the hook, the command line and the page read
//! it, so that they agree.
//!
//! A key has the name of an option and takes the same values, which the parser of that option
//! checks. So a key that is wrong does not take the others down.

use super::output;
use super::serve::options::{self, Serve};
use super::source::{ConfigOptions, Folders, PromptSource, Settings, TeamKeys, absolute};
use super::user_folders::{self, TRUSTED, is_own, read_text, texts, trusted};
#[cfg(feature = "openapi")]
use super::{
    source::{self, OpenApi},
    team,
    unrepeated::Unrepeated,
};
use crate::agents::ConfigFile;
use crate::prompt::similar::closest;
use crate::prompt::{Diagnostic, Format, Position};
#[cfg(feature = "openapi")]
use crate::sources::SecretHeader;
use crate::sources::Trust;
use crate::sources::pack::lock::LOCK;
use crate::wording::{all_of, named};
use anyhow::bail;
use clap::builder::TypedValueParser;
use clap::{Arg, Command};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Array, Document, DocumentMut, Item, Table, Value};

/// A key of the settings file, or of a table in it.
struct SettingsKey<T: 'static> {
    name: &'static str,
    /// The long name of the option that has its meaning; empty if there is none.
    option: &'static str,
    /// Sets what the value says.
    ///
    /// # Errors
    /// Why the value is not valid.
    set: fn(&mut T, &KeyValue<'_>) -> Result<(), String>,
}

const fn key<T>(
    name: &'static str,
    option: &'static str,
    set: fn(&mut T, &KeyValue<'_>) -> Result<(), String>,
) -> SettingsKey<T> {
    SettingsKey { name, option, set }
}

/// What the keys say, except for those of `[[openapi]]`.
#[derive(Default)]
struct Keys {
    folders: Folders,
    serve: Serve,
    team: TeamKeys,
}

const KEYS: [SettingsKey<Keys>; 16] = [
    key("prompts", "prompts", |keys, value| {
        value
            .prompt_folders()
            .map(|value| keys.folders.prompts = value)
    }),
    key("from-agents", "from-agents", |keys, value| {
        value.flag().map(|value| keys.folders.from_agents = value)
    }),
    key("builtin", "no-builtin", |keys, value| {
        value.flag().map(|value| keys.folders.no_builtin = !value)
    }),
    key("mentions", "no-mentions", |keys, value| {
        value.flag().map(|value| keys.folders.no_mentions = !value)
    }),
    key("edit", "edit", |keys, value| {
        value.flag().map(|value| keys.serve.edit = value)
    }),
    key("history", "history", |keys, value| {
        value
            .parsed("COUNT", str::parse::<NonZeroUsize>)
            .map(|value| keys.serve.history = Some(value))
    }),
    key("page-size", "page-size", |keys, value| {
        value
            .parsed("COUNT", str::parse::<NonZeroUsize>)
            .map(|value| keys.serve.page_size = Some(value))
    }),
    key("result-limit", "result-limit", |keys, value| {
        value
            .parsed("CHARACTERS", options::result_limit)
            .map(|value| keys.serve.result_limit = Some(value))
    }),
    key("log-file", "log-file", |keys, value| {
        value.path().map(|value| keys.serve.log_file = Some(value))
    }),
    key("log-level", "log-level", |keys, value| {
        value
            .parsed("LEVEL", options::level())
            .map(|value| keys.serve.log_level = Some(value))
    }),
    key("tap", "tap", |keys, value| {
        value.path().map(|value| keys.serve.tap = Some(value))
    }),
    key("team", "team", |keys, value| {
        value.text().map(|value| keys.team.url = Some(value))
    }),
    key("team-token-file", "team-token-file", |keys, value| {
        value.path().map(|value| keys.team.token_file = Some(value))
    }),
    key("team-token-env", "team-token-env", |keys, value| {
        value
            .text()
            .map(|value| keys.team.token_variable = Some(value))
    }),
    // `trust` reads it.
    key(TRUSTED, "", |_, value| value.texts().map(drop)),
    // The keys in its tables are read after all others.
    key(OPENAPI, "", |_, value| {
        let tables = value.item.as_array_of_tables();
        tables
            .map(|_| ())
            .ok_or("it must be tables: `[[openapi]]`".to_owned())
    }),
];

#[cfg(feature = "openapi")]
const OPENAPI_KEYS: [SettingsKey<OpenApi>; 5] = [
    key("file", "openapi", |document, value| {
        value.paths().map(|value| document.openapi = value)
    }),
    key("operations", "openapi-operation", |document, value| {
        value
            .texts()
            .map(|value| document.openapi_operation = value)
    }),
    key("base", "openapi-base", |document, value| {
        value
            .parsed("URL", Unrepeated(source::base))
            .map(|value| document.openapi_base = Some(value))
    }),
    key("headers", "openapi-header", |document, value| {
        value.headers().map(|value| document.openapi_header = value)
    }),
    key(
        "allow-private",
        "openapi-allow-private",
        |document, value| {
            value
                .flag()
                .map(|value| document.openapi_allow_private = value)
        },
    ),
];

const OPENAPI: &str = "openapi";

/// What a file inside a project cannot grant.
const OWN: [&str; 8] = [
    "edit",
    "log-file",
    "tap",
    TRUSTED,
    OPENAPI,
    "team",
    "team-token-file",
    "team-token-env",
];

/// The settings file; `None` if none is to be read, or the home directory is unknown.
pub(super) fn path(options: &ConfigOptions) -> Option<PathBuf> {
    match &options.config {
        _ if options.no_config => None,
        Some(file) => Some(absolute(file)),
        None => Some(user_folders::config()?.join("config.toml")),
    }
}

/// Adds what the settings file says.
pub(super) fn load(source: &mut PromptSource) {
    let variable_problems = user_folders::problems();
    let Some(path) = path(&source.config) else {
        source.settings.problems = variable_problems;
        return;
    };
    let settings = match read_text(&path) {
        Ok(text) => read(&path, &text),
        Err(error) if error.kind() == ErrorKind::NotFound && source.config.config.is_none() => {
            Settings::default()
        }
        Err(error) => unusable(
            &path,
            Diagnostic::error(
                None,
                format!("the settings file cannot be read: {error}"),
                REPAIR,
            ),
        ),
    };
    let packs = Some(path.with_file_name(LOCK));
    source.settings = Settings {
        trust: Some(Trust::new(path, trusted, user_folders::data())),
        packs,
        ..settings
    };
    source.settings.problems.extend(variable_problems);
}

const REPAIR: &str =
    "correct it, and restart the agents, or use --no-config; until then, no prompt can be expanded";

fn unusable(path: &Path, diagnostic: Diagnostic) -> Settings {
    Settings {
        problems: vec![diagnostic.in_file(path)],
        is_unusable: true,
        ..Settings::default()
    }
}

/// Returns what a settings file says.
fn read(path: &Path, text: &str) -> Settings {
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => return unusable(path, not_toml(&error, text)),
    };
    let mut reader = Reader {
        text,
        folder: path.parent().unwrap_or(path),
        is_own: is_own(path),
        problems: Vec::new(),
    };
    let mut keys = Keys::default();
    reader.read_table(document.as_table(), &KEYS, &mut keys);
    let mut settings = Settings {
        folders: keys.folders,
        serve: keys.serve,
        ..Settings::default()
    };
    #[cfg(feature = "openapi")]
    {
        match team::open(keys.team, reader.folder) {
            Ok(team) => settings.team = team,
            Err(message) => {
                let span = document.get("team").and_then(Item::span);
                reader.problem(span, message, "correct it");
            }
        }
        settings.openapi = reader.read_documents(document.as_table());
    }
    for diagnostic in reader.problems {
        settings.problems.push(diagnostic.in_file(path));
    }
    settings
}

/// Reads the tables of a settings file.
struct Reader<'t> {
    text: &'t str,
    /// The folder of the file, where relative paths begin.
    folder: &'t Path,
    /// Whether only the user can have written the file.
    is_own: bool,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    /// Reads the keys of a table into `target`. A key that is wrong becomes a problem.
    fn read_table<T>(&mut self, table: &Table, keys: &[SettingsKey<T>], target: &mut T) {
        for (name, item) in table.iter() {
            let name_span = table.key(name).and_then(toml_edit::Key::span);
            if !self.is_own && OWN.contains(&name) {
                let message = format!("{} is not taken from a file inside a project", named(name));
                let fix = "write it into your own settings file, in your configuration folder";
                self.problem(name_span, message, fix);
                continue;
            }
            let Some(key) = keys.iter().find(|key| key.name == name) else {
                let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                let fix = match closest(name, names.iter().copied()) {
                    Some(similar) => format!("did you mean {}?", named(similar)),
                    None => format!("delete it; the keys are {}", all_of(&names)),
                };
                self.problem(name_span, format!("there is no key {}", named(name)), &fix);
                continue;
            };
            let value = KeyValue {
                name,
                option: key.option,
                item,
                folder: self.folder,
            };
            if let Err(message) = (key.set)(target, &value) {
                self.problem(item.span(), message, "correct it, or delete the line");
            }
        }
    }

    /// Reads the tables `[[openapi]]`.
    #[cfg(feature = "openapi")]
    fn read_documents(&mut self, table: &Table) -> Vec<OpenApi> {
        let mut documents = Vec::new();
        let tables = table.get(OPENAPI).and_then(Item::as_array_of_tables);
        for table in tables.filter(|_| self.is_own).into_iter().flatten() {
            let mut document = OpenApi::default();
            self.read_table(table, &OPENAPI_KEYS, &mut document);
            if !table.contains_key("file") {
                let message = "an `[[openapi]]` needs a `file`".to_owned();
                self.problem(table.span(), message, "add one");
            }
            documents.push(document);
        }
        documents
    }

    fn problem(&mut self, span: Option<Range<usize>>, message: String, fix: &str) {
        let position = span.map(|span| Position::in_text(self.text, span.start, 1));
        self.problems
            .push(Diagnostic::error(position, message, fix));
    }
}

/// The value of a key.
struct KeyValue<'t> {
    /// The name of the key.
    name: &'t str,
    /// The long name of the option that has the meaning of the key.
    option: &'static str,
    item: &'t Item,
    /// The folder of the file, where relative paths begin.
    folder: &'t Path,
}

impl KeyValue<'_> {
    fn flag(&self) -> Result<bool, String> {
        let flag = self.item.as_bool();
        flag.ok_or_else(|| format!("{} must be true or false", named(self.name)))
    }

    /// Returns a text, or a number as a text.
    fn text(&self) -> Result<String, String> {
        if let Some(number) = self.item.as_integer() {
            return Ok(number.to_string());
        }
        match self.item.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("{} must be one value", named(self.name))),
        }
    }

    fn texts(&self) -> Result<Vec<String>, String> {
        texts(self.item).ok_or_else(|| format!("{} must be a list of texts", named(self.name)))
    }

    fn path(&self) -> Result<PathBuf, String> {
        Ok(in_folder(self.folder, &self.text()?))
    }

    /// Returns the folders of prompts, each with the format that is named before it.
    fn prompt_folders(&self) -> Result<Vec<PathBuf>, String> {
        let mut folders = Vec::new();
        for text in self.texts()? {
            let (format, path) = Format::of_option(&text);
            let path = in_folder(self.folder, path);
            folders.push(match format {
                Some(format) => format!("{}:{}", format.name, path.display()).into(),
                None => path,
            });
        }
        Ok(folders)
    }

    /// Parses the value as the option does whose value has this name in the help.
    fn parsed<P: TypedValueParser>(
        &self,
        name: &'static str,
        parser: P,
    ) -> Result<P::Value, String> {
        self.parse(&self.text()?, name, &parser)
    }

    fn parse<P: TypedValueParser>(
        &self,
        text: &str,
        name: &'static str,
        parser: &P,
    ) -> Result<P::Value, String> {
        let option = Arg::new("").long(self.option).value_name(name).num_args(1);
        parser
            .parse_ref(&Command::new(""), Some(&option), OsStr::new(text))
            .map_err(|error| output::without_usage(&error.to_string()))
    }
}

#[cfg(feature = "openapi")]
impl KeyValue<'_> {
    fn paths(&self) -> Result<Vec<PathBuf>, String> {
        let mut paths = Vec::new();
        for text in self.texts()? {
            paths.push(in_folder(self.folder, &text));
        }
        Ok(paths)
    }

    /// Returns headers whose values are in files or variables: `Authorization: Bearer @FILE`.
    fn headers(&self) -> Result<Vec<SecretHeader>, String> {
        let mut headers = Vec::new();
        for mut text in self.texts()? {
            if let Some((before, path)) = text.split_once('@') {
                text = format!("{before}@{}", in_folder(self.folder, path).display());
            }
            headers.push(self.parse(
                &text,
                "NAME: @FILE|$VARIABLE",
                &Unrepeated(source::header),
            )?);
        }
        Ok(headers)
    }
}

/// Returns a path that is relative to a folder, unless it is absolute or begins with `~`.
fn in_folder(folder: &Path, path: &str) -> PathBuf {
    if path.starts_with('~') {
        path.into()
    } else {
        folder.join(path)
    }
}

fn not_toml(error: &toml_edit::TomlError, text: &str) -> Diagnostic {
    let position = error
        .span()
        .map(|span| Position::in_text(text, span.start, 1));
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    Diagnostic::error(position, format!("this is not TOML: {message}"), REPAIR)
}

/// Writes other trusted repositories into a settings file, which may be missing.
///
/// # Errors
/// It is in a project, is no TOML, or cannot be written.
pub(super) fn set_trusted(path: &Path, roots: &[String]) -> anyhow::Result<()> {
    if !is_own(path) {
        bail!(
            "{} is inside a project, where `trusted` is ignored; leave out --config",
            output::full_path(path)
        );
    }
    let mut file = ConfigFile::settings(path.to_owned())?;
    let text = file.original_text();
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| not_toml(&error, text).in_file(path))?;
    set(
        document.as_table_mut(),
        TRUSTED,
        Value::from(roots.iter().collect::<Array>()),
    );
    file.edited = Some(document.to_string());
    Ok(file.write()?)
}

/// Sets a key; a comment on its line stays.
fn set(table: &mut Table, key: &str, mut value: Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table[key] = Item::Value(value);
}

/// Returns the key that has the meaning of an option: `builtin` for `no-builtin`.
pub(super) fn key_of(option: &str) -> Option<String> {
    if let Some(key) = KEYS.iter().find(|key| key.option == option) {
        return Some(key.name.to_owned());
    }
    #[cfg(feature = "openapi")]
    if let Some(key) = OPENAPI_KEYS.iter().find(|key| key.option == option) {
        return Some(format!("[[{OPENAPI}]] {}", key.name));
    }
    None
}

/// Whether a settings file lets agents edit prompts.
pub(super) fn may_edit(text: &str) -> bool {
    text.parse::<DocumentMut>()
        .is_ok_and(|document| document.get("edit").and_then(Item::as_bool) == Some(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> (Settings, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let settings = read(&folder.path().join("config.toml"), text);
        let shown = |problem: &Diagnostic| {
            let at = problem
                .position
                .map(|at| format!("{at}: "))
                .unwrap_or_default();
            format!("{at}{}", problem.text())
        };
        let problems = settings.problems.iter().map(shown).collect();
        (settings, problems)
    }

    #[test]
    fn a_key_that_is_wrong_is_a_problem_with_its_position_and_the_others_hold() {
        for (line, want) in [
            (
                "promts = []",
                "2:1: there is no key `promts`; did you mean `prompts`?",
            ),
            (
                "[[openap]]\nfile = 'x'",
                "2:3: there is no key `openap`; did you mean `openapi`?",
            ),
            (
                "edit = 1",
                "2:8: `edit` must be true or false; correct it, or delete the line",
            ),
            (
                "prompts = [1]",
                "2:11: `prompts` must be a list of texts; correct it, or delete the line",
            ),
            (
                "page-size = 0",
                "2:13: invalid value '0' for '--page-size <COUNT>': number would be zero for non-zero type",
            ),
            (
                "log-level = 'loud'",
                "2:13: invalid value 'loud' for '--log-level <LEVEL>'",
            ),
            (
                "[[openapi]]\nbase = 'https://a.example'",
                "an `[[openapi]]` needs a `file`; add one",
            ),
            (
                "[[openapi]]\nfile = 'x'\nheader = []",
                "4:1: there is no key `header`; did you mean `headers`?",
            ),
        ] {
            let (settings, problems) = settings(&format!("builtin = false\n{line}\n"));
            assert!(
                problems.len() == 1 && problems[0].contains(want),
                "{line}: {problems:?}"
            );
            assert!(
                settings.folders.no_builtin && !settings.is_unusable,
                "{line}"
            );
        }
    }

    #[test]
    fn a_header_that_is_wrong_is_not_repeated() {
        let (_, problems) =
            settings("[[openapi]]\nfile = 'x'\nheaders = ['Authorization: Bearer hunter2']");
        assert!(
            problems.len() == 1 && !problems[0].contains("hunter2"),
            "{problems:?}"
        );
    }

    #[test]
    fn every_key_is_read_and_a_relative_path_is_one_beside_the_file() {
        let (settings, problems) = settings(
            "prompts = ['a', 'claude:~/b']\nfrom-agents = true\nbuiltin = true\nmentions = false\nedit = true\nhistory = 3\n\
             page-size = 7\nresult-limit = 900\nlog-file = 'x.log'\nlog-level = 'debug'\ntap = '/t'\ntrusted = ['/r']\n\
             [[openapi]]\nfile = 'o.yaml'\noperations = ['a', 'b']\nbase = 'https://a.example'\n\
             headers = ['Authorization: Bearer $TOKEN']\nallow-private = true\n[[openapi]]\nfile = 'p.yaml'\n",
        );
        assert_eq!(problems, Vec::<String>::new());
        let crate::cli::source::Folders {
            prompts,
            from_agents,
            no_builtin,
            no_mentions,
            ..
        } = settings.folders;
        assert!(
            prompts[0].is_absolute() && prompts[0].ends_with("a"),
            "{prompts:?}"
        );
        assert_eq!(
            (&prompts[1], from_agents, no_builtin),
            (&PathBuf::from("claude:~/b"), true, false)
        );
        assert!(no_mentions);
        #[cfg(feature = "openapi")]
        assert_eq!(
            settings
                .openapi
                .iter()
                .map(|one| one.openapi_operation.len())
                .collect::<Vec<_>>(),
            [2, 0]
        );
    }

    #[test]
    fn what_is_no_toml_is_unusable() {
        let (settings, problems) = settings("a = 1\nprompts = [");
        assert!(
            settings.is_unusable && problems[0].contains("2:12: this is not TOML"),
            "{problems:?}"
        );
    }
}
