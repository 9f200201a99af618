//! Reads the settings file, `config.toml`. The server, the hook, the commands and the web page all
//! use the same settings.
//!
//! Each key corresponds to a command-line option, and its value is validated by the option's own
//! parser. An invalid key is reported, and doesn't affect the other keys.

use super::output;
use super::serve::options::{self, Serve};
use super::settings_edits::{
    FIRST_LINE, MENUS, MENUS_ALL, MENUS_ONLY, REPAIR, TEAM, TEAM_TOKEN_FILE, TEAM_TOKEN_VARIABLE,
    toml_error,
};
use super::source_options::{
    ConfigOptions, Folders, LoadedSettings, PromptSource, TeamKeys, absolute,
};
use super::user_folders::{self, TRUSTED, is_users_own, read_text, strings, trusted};
#[cfg(feature = "openapi")]
use super::{
    openapi::{self, OpenApiArgs},
    redacting_parser::RedactingParser,
    team_connection,
};
use crate::agents::{AGENTS, Agent, PROMPTS_VARIABLE};
use crate::menus::MenuSettings;
use crate::prompt::similar::closest;
use crate::prompt::{Diagnostic, Format, Position};
use crate::sources::Trust;
use crate::sources::pack::pack_lock::LOCK;
#[cfg(feature = "openapi")]
use crate::sources::{SecretHeader, Team};
use crate::wording::{and_list, in_backticks};
use clap::builder::TypedValueParser;
use clap::{Arg, Command};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
#[cfg(feature = "openapi")]
use std::sync::Arc;
use toml_edit::{Document, DocumentMut, Item, Key, Table};

/// A key of the settings file, or of a table in it. Its value is stored in a `T`.
struct SettingsKey<T: 'static> {
    name: &'static str,
    /// The long name of the corresponding option, or [`NO_OPTION`].
    option: &'static str,
    /// Parses the value, and stores it in `T`. The error says why the value is invalid.
    set: fn(&mut T, &KeyValue<'_>) -> Result<(), String>,
}

/// The [`SettingsKey::option`] of a key that can't be set on the command line.
const NO_OPTION: &str = "";

const fn key<T>(
    name: &'static str,
    option: &'static str,
    set: fn(&mut T, &KeyValue<'_>) -> Result<(), String>,
) -> SettingsKey<T> {
    SettingsKey { name, option, set }
}

/// The values of the top-level keys.
#[derive(Default)]
struct KeyValues {
    folders: Folders,
    serve: Serve,
    menus: MenuSettings,
    team: TeamKeys,
    is_usage_off: bool,
}

const KEYS: [SettingsKey<KeyValues>; 22] = [
    key("prompts", "prompts", |keys, value| {
        keys.folders.prompts = value.prompt_folders()?;
        Ok(())
    }),
    key("from-agents", "from-agents", |keys, value| {
        keys.folders.from_agents = value.flag()?;
        Ok(())
    }),
    key("builtin", "no-builtin", |keys, value| {
        keys.folders.no_builtin = !value.flag()?;
        Ok(())
    }),
    key("mentions", "no-mentions", |keys, value| {
        keys.folders.no_mentions = !value.flag()?;
        Ok(())
    }),
    key("edit", "edit", |keys, value| {
        keys.serve.edit = value.flag()?;
        Ok(())
    }),
    key("history", "history", |keys, value| {
        keys.serve.history = Some(value.parsed("COUNT", str::parse::<NonZeroUsize>)?);
        Ok(())
    }),
    key("page-size", "page-size", |keys, value| {
        keys.serve.page_size = Some(value.parsed("COUNT", str::parse::<NonZeroUsize>)?);
        Ok(())
    }),
    key("result-limit", "result-limit", |keys, value| {
        keys.serve.result_limit = Some(value.parsed("CHARACTERS", options::result_limit)?);
        Ok(())
    }),
    key("skills", "skills", |keys, value| {
        keys.serve.skills = value.flag()?;
        Ok(())
    }),
    key("log-file", "log-file", |keys, value| {
        keys.serve.log_file = Some(value.path()?);
        Ok(())
    }),
    key("log-level", "log-level", |keys, value| {
        keys.serve.log_level = Some(value.parsed("LEVEL", options::level())?);
        Ok(())
    }),
    key("tap", "tap", |keys, value| {
        keys.serve.tap = Some(value.path()?);
        Ok(())
    }),
    key(MENUS, NO_OPTION, |keys, value| {
        keys.menus.agents = value.agents_with_menu()?;
        Ok(())
    }),
    key(MENUS_ALL, NO_OPTION, |keys, value| {
        keys.menus.all = value.flag()?;
        Ok(())
    }),
    key(MENUS_ONLY, NO_OPTION, |keys, value| {
        keys.menus.only = Some(value.text()?);
        Ok(())
    }),
    key(TEAM, "team", |keys, value| {
        keys.team.url = Some(value.string()?);
        Ok(())
    }),
    key(TEAM_TOKEN_FILE, "team-token-file", |keys, value| {
        keys.team.token_file = Some(value.path()?);
        Ok(())
    }),
    key(TEAM_TOKEN_VARIABLE, "team-token-env", |keys, value| {
        keys.team.token_variable = Some(value.string()?);
        Ok(())
    }),
    key("team-cache", "team-cache", |keys, value| {
        keys.team.cache_mebibytes = Some(value.parsed("MIB", str::parse::<u32>)?);
        Ok(())
    }),
    key("usage", NO_OPTION, |keys, value| {
        keys.is_usage_off = true; // also if the value is invalid
        keys.is_usage_off = !value.flag()?;
        Ok(())
    }),
    // Only validated here: `user_folders` reads the list.
    key(TRUSTED, NO_OPTION, |_, value| value.strings().map(drop)),
    // Only validated here: `read_documents` reads the tables.
    key(OPENAPI, NO_OPTION, |_, value| {
        if value.item.is_array_of_tables() {
            Ok(())
        } else {
            Err("it must be tables: `[[openapi]]`".to_owned())
        }
    }),
];

#[cfg(feature = "openapi")]
const OPENAPI_KEYS: [SettingsKey<OpenApiArgs>; 5] = [
    key("file", "openapi", |document, value| {
        document.openapi = value.paths()?;
        Ok(())
    }),
    key("operations", "openapi-operation", |document, value| {
        document.openapi_operation = value.strings()?;
        Ok(())
    }),
    key("base", "openapi-base", |document, value| {
        document.openapi_base =
            Some(value.parsed("URL", RedactingParser(openapi::parse_base_url))?);
        Ok(())
    }),
    key("headers", "openapi-header", |document, value| {
        document.openapi_header = value.headers()?;
        Ok(())
    }),
    key(
        "allow-private",
        "openapi-allow-private",
        |document, value| {
            document.openapi_allow_private = value.flag()?;
            Ok(())
        },
    ),
];

const OPENAPI: &str = "openapi";

/// The keys that are rejected in a settings file inside a project, which somebody else may have
/// written.
const OWN_FILE_ONLY: [&str; 11] = [
    "edit",
    MENUS,
    MENUS_ALL,
    MENUS_ONLY,
    "log-file",
    "tap",
    TRUSTED,
    OPENAPI,
    TEAM,
    TEAM_TOKEN_FILE,
    TEAM_TOKEN_VARIABLE,
];

/// Returns the path of the settings file, or `None` if `--no-config` was passed or the home
/// directory is unknown.
pub(super) fn path(options: &ConfigOptions) -> Option<PathBuf> {
    if options.no_config {
        return None;
    }
    match &options.config {
        Some(file) => Some(absolute(file)),
        None => Some(user_folders::config()?.join("config.toml")),
    }
}

/// The parsed contents of a settings file.
#[derive(Default)]
struct SettingsFile {
    folders: Folders,
    settings: LoadedSettings,
}

/// Reads the settings file and the environment variables, and merges them into `source`, whose
/// options take precedence. Without a settings file, the defaults apply. Errors are added to
/// `source.settings.problems`.
pub(super) fn load(source: &mut PromptSource) {
    let file = match path(&source.config) {
        Some(path) => read_file(path, &source.config),
        None => SettingsFile::default(),
    };
    source.folders.merge_environment();
    let has_other_prompts = !source.folders.prompts.is_empty();
    source.folders.merge(file.folders);
    source.settings = file.settings;
    if has_other_prompts {
        source.settings.menus = MenuSettings::default();
        source.settings.menus_error = Some(Diagnostic::invalid(
            format!(
                "menus are for the prompts of the settings file, which `--prompts` or \
                 `{PROMPTS_VARIABLE}` replaces"
            ),
            "leave out the option, or unset the variable",
        ));
    }
    source
        .settings
        .problems
        .extend(user_folders::ignored_variable_errors());
}

/// Returns the settings of menus that are in the settings file now, or `None` if the file can't be
/// read, or if they have an error.
pub(super) fn menus(options: &ConfigOptions) -> Option<MenuSettings> {
    let path = path(options)?;
    let text = read_text(&path).ok()?;
    let document = Document::parse(text.as_str()).ok()?;
    let mut reader = Reader::new(&path, &text);
    let keys = reader.read_keys(document.as_table());
    reader.menus_error.is_none().then_some(keys.menus)
}

/// Reads a settings file. If that fails, the result is unusable, and contains the error. A missing
/// file is the same as an empty one, unless `--config` named it.
fn read_file(path: PathBuf, options: &ConfigOptions) -> SettingsFile {
    let mut file = match read_text(&path) {
        Ok(text) => parse(&path, &text),
        Err(error) if error.kind() == ErrorKind::NotFound && options.config.is_none() => {
            SettingsFile::default()
        }
        Err(error) => {
            let message = format!("the settings file cannot be read: {error}");
            SettingsFile::unusable(&path, Diagnostic::invalid(message, REPAIR))
        }
    };
    file.settings.packs = Some(path.with_file_name(LOCK));
    file.settings.trust = Some(Trust::new(path, trusted, user_folders::data()));
    file
}

impl SettingsFile {
    /// Returns the result for a file that can't be read or parsed, with a diagnostic that says why.
    fn unusable(path: &Path, diagnostic: Diagnostic) -> SettingsFile {
        let settings = LoadedSettings {
            problems: vec![diagnostic.in_file(path)],
            is_unusable: true,
            ..LoadedSettings::default()
        };
        SettingsFile {
            settings,
            ..SettingsFile::default()
        }
    }
}

/// Parses a settings file. An invalid key is reported in the problems, and doesn't affect the
/// others.
fn parse(path: &Path, text: &str) -> SettingsFile {
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => return SettingsFile::unusable(path, toml_error(&error, text)),
    };
    let mut reader = Reader::new(path, text);
    let keys = reader.read_keys(document.as_table());
    let mut settings = LoadedSettings {
        serve: keys.serve,
        menus: keys.menus,
        is_usage_off: keys.is_usage_off,
        ..LoadedSettings::default()
    };
    #[cfg(feature = "openapi")]
    {
        settings.team = reader.read_team(document.as_table(), keys.team);
        settings.openapi = reader.read_documents(document.as_table());
    }
    settings.menus_error = reader.menus_error.map(|error| error.in_file(path));
    for diagnostic in reader.problems {
        settings.problems.push(diagnostic.in_file(path));
    }
    SettingsFile {
        folders: keys.folders,
        settings,
    }
}

/// Reads the tables of a settings file, and collects the problems.
struct Reader<'t> {
    text: &'t str,
    /// The folder of the file, to which its paths are relative.
    folder: &'t Path,
    /// Whether nobody but the user can have written the file.
    is_own: bool,
    problems: Vec<Diagnostic>,
    /// The last of the problems with the settings of menus.
    menus_error: Option<Diagnostic>,
}

impl<'t> Reader<'t> {
    fn new(path: &'t Path, text: &'t str) -> Reader<'t> {
        Reader {
            text,
            folder: path.parent().unwrap_or(path),
            is_own: is_users_own(path),
            problems: Vec::new(),
            menus_error: None,
        }
    }

    /// Reads the top-level keys. An error in the settings of menus includes those in a table, where
    /// they have no effect.
    fn read_keys(&mut self, table: &Table) -> KeyValues {
        let mut keys = KeyValues::default();
        self.read_table(table, &KEYS, &mut keys);
        let misplaced_key = table.iter().find_map(|(_, item)| menus_key_in(item));
        if let Some(key) = misplaced_key {
            let message = format!("{} is in a table", in_backticks(key.get()));
            self.menus_error = Some(self.diagnostic(key.span(), message, MOVE_UP));
        }
        keys
    }

    /// Reads the values of a table into `target`, and reports invalid and unknown keys.
    fn read_table<T>(&mut self, table: &Table, keys: &[SettingsKey<T>], target: &mut T) {
        for (name, item) in table.iter() {
            let Some(key) = self.find_key(name, table, keys) else {
                continue;
            };
            let value = KeyValue {
                name,
                option: key.option,
                item,
                folder: self.folder,
            };
            if let Err(message) = (key.set)(target, &value) {
                self.report_key(name, item.span(), message, "correct it, or delete the line");
            }
        }
    }

    /// Returns the key with this name. If there is none, or it isn't allowed in this file, reports
    /// that, and returns `None`.
    fn find_key<'k, T>(
        &mut self,
        name: &str,
        table: &Table,
        keys: &'k [SettingsKey<T>],
    ) -> Option<&'k SettingsKey<T>> {
        let span = table.key(name).and_then(toml_edit::Key::span);
        if !self.is_own && OWN_FILE_ONLY.contains(&name) {
            let message = format!(
                "{} is not taken from a file inside a project",
                in_backticks(name)
            );
            let fix = "write it into your own settings file, in your configuration folder";
            self.report_key(name, span, message, fix);
            return None;
        }
        let key = keys.iter().find(|key| key.name == name);
        if key.is_none() {
            let message = format!("there is no key {}", in_backticks(name));
            self.report_key(name, span, message, &fix_for_unknown_key(name, keys));
        }
        key
    }

    /// Opens the team that the keys specify. If that fails, reports the problem, and returns
    /// `None`.
    #[cfg(feature = "openapi")]
    fn read_team(&mut self, table: &Table, keys: TeamKeys) -> Option<Arc<Team>> {
        match team_connection::open(keys, self.folder) {
            Ok(team) => team,
            Err(message) => {
                let span = table.get(TEAM).and_then(Item::span);
                self.report(span, message, "correct it");
                None
            }
        }
    }

    /// Reads the `[[openapi]]` tables. Skips them in a file inside a project, where [`find_key`]
    /// has already rejected them.
    ///
    /// [`find_key`]: Reader::find_key
    #[cfg(feature = "openapi")]
    fn read_documents(&mut self, table: &Table) -> Vec<OpenApiArgs> {
        let mut documents = Vec::new();
        let Some(tables) = table.get(OPENAPI).and_then(Item::as_array_of_tables) else {
            return documents;
        };
        if !self.is_own {
            return documents;
        }
        for table in tables {
            let mut document = OpenApiArgs::default();
            self.read_table(table, &OPENAPI_KEYS, &mut document);
            if !table.contains_key("file") {
                let message = "an `[[openapi]]` needs a `file`".to_owned();
                self.report(table.span(), message, "add one");
            }
            documents.push(document);
        }
        documents
    }

    /// Reports a problem with a key, which may be one of menus.
    fn report_key(&mut self, name: &str, span: Option<Range<usize>>, message: String, fix: &str) {
        self.report(span, message, fix);
        if name.starts_with(MENUS) {
            self.menus_error = self.problems.last().cloned();
        }
    }

    fn report(&mut self, span: Option<Range<usize>>, message: String, fix: &str) {
        let problem = self.diagnostic(span, message, fix);
        self.problems.push(problem);
    }

    fn diagnostic(&self, span: Option<Range<usize>>, message: String, fix: &str) -> Diagnostic {
        let position = span.map(|span| Position::in_text(self.text, span.start, FIRST_LINE));
        Diagnostic::error(position, message, fix)
    }
}

/// Returns a key whose name begins with `menus` in the tables that an item is, at any depth.
fn menus_key_in(item: &Item) -> Option<&Key> {
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().find_map(menus_key_in_table);
    }
    menus_key_in_table(item.as_table()?)
}

fn menus_key_in_table(table: &Table) -> Option<&Key> {
    table.iter().find_map(|(name, item)| {
        if name.starts_with(MENUS) {
            table.key(name)
        } else {
            menus_key_in(item)
        }
    })
}

/// The fix for a top-level key that is in a table.
const MOVE_UP: &str = "move it above the first table";

/// Suggests the top level for a key that belongs there, and otherwise the key with the most similar
/// name. Lists all keys if none is similar.
fn fix_for_unknown_key<T>(name: &str, keys: &[SettingsKey<T>]) -> String {
    if KEYS.iter().any(|key| key.name == name) {
        return MOVE_UP.to_owned();
    }
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    match closest(name, names.iter().copied()) {
        Some(similar) => format!("did you mean {}?", in_backticks(similar)),
        None => format!("delete it; the keys are {}", and_list(&names)),
    }
}

/// The value of a key, with what is needed to parse it.
struct KeyValue<'t> {
    /// The name of the key.
    name: &'t str,
    /// The [`SettingsKey::option`] of the key.
    option: &'static str,
    item: &'t Item,
    /// The folder of the settings file, to which paths are relative.
    folder: &'t Path,
}

impl KeyValue<'_> {
    fn flag(&self) -> Result<bool, String> {
        match self.item.as_bool() {
            Some(flag) => Ok(flag),
            None => Err(format!("{} must be true or false", in_backticks(self.name))),
        }
    }

    /// Returns a string. An integer is formatted as one.
    fn string(&self) -> Result<String, String> {
        if let Some(number) = self.item.as_integer() {
            return Ok(number.to_string());
        }
        match self.item.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("{} must be one value", in_backticks(self.name))),
        }
    }

    /// Returns a string. An integer is an error.
    fn text(&self) -> Result<String, String> {
        match self.item.as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(format!("{} must be in quotes", in_backticks(self.name))),
        }
    }

    fn strings(&self) -> Result<Vec<String>, String> {
        match strings(self.item) {
            Some(strings) => Ok(strings),
            None => Err(format!(
                "{} must be a list of strings",
                in_backticks(self.name)
            )),
        }
    }

    /// Returns the agents with these names, in display order.
    fn agents_with_menu(&self) -> Result<Vec<&'static Agent>, String> {
        let names = self.strings()?;
        for name in &names {
            if Agent::by_name(name).is_none_or(|agent| agent.menu.is_none()) {
                return Err(format!(
                    "{} is no agent with a menu of its own",
                    in_backticks(name)
                ));
            }
        }
        let named: Vec<_> = names
            .iter()
            .filter_map(|name| Agent::by_name(name))
            .collect();
        Ok(AGENTS
            .into_iter()
            .filter(|agent| named.contains(agent))
            .collect())
    }

    fn path(&self) -> Result<PathBuf, String> {
        Ok(resolve(self.folder, &self.string()?))
    }

    /// Returns values for `--prompts`: absolute paths, with the format before them if there is one.
    fn prompt_folders(&self) -> Result<Vec<PathBuf>, String> {
        let mut folders = Vec::new();
        for option in self.strings()? {
            let (format, path) = Format::split_prefix(&option);
            let path = resolve(self.folder, path);
            folders.push(match format {
                Some(format) => format!("{}:{}", format.name, path.display()).into(),
                None => path,
            });
        }
        Ok(folders)
    }

    /// Parses the value with the parser of the corresponding option. `value_name` is the
    /// placeholder for the value in the option's help, e.g. `COUNT`, which errors contain.
    fn parsed<P: TypedValueParser>(
        &self,
        value_name: &'static str,
        parser: P,
    ) -> Result<P::Value, String> {
        self.parse_string(&self.string()?, value_name, &parser)
    }

    /// Parses one string, e.g. of a list, with the parser of the corresponding option. `value_name`
    /// is the placeholder for the value in the option's help, which errors contain.
    fn parse_string<P: TypedValueParser>(
        &self,
        string: &str,
        value_name: &'static str,
        parser: &P,
    ) -> Result<P::Value, String> {
        // The errors contain neither the id of the option nor the name of the command.
        let option = Arg::new("")
            .long(self.option)
            .value_name(value_name)
            .num_args(1);
        let value = parser.parse_ref(&Command::new(""), Some(&option), OsStr::new(string));
        value.map_err(|error| output::without_usage(&error.to_string()))
    }
}

#[cfg(feature = "openapi")]
impl KeyValue<'_> {
    fn paths(&self) -> Result<Vec<PathBuf>, String> {
        let mut paths = Vec::new();
        for path in self.strings()? {
            paths.push(resolve(self.folder, &path));
        }
        Ok(paths)
    }

    /// Parses a list of headers that are sent to a service, as in
    /// `headers = ["Authorization: Bearer $TOKEN", "X-Key: @key.txt"]`.
    ///
    /// A header names an environment variable or a file that contains its value. A relative path is
    /// relative to the settings file.
    ///
    /// # Errors
    /// Fails if the value isn't a list of strings, or a string has another form.
    fn headers(&self) -> Result<Vec<SecretHeader>, String> {
        let parser = RedactingParser(openapi::parse_header);
        let mut headers = Vec::new();
        for string in self.strings()? {
            let string = self.with_full_path(string);
            headers.push(self.parse_string(&string, "NAME: @FILE|$VARIABLE", &parser)?);
        }
        Ok(headers)
    }

    /// Resolves the path after the `@` of a header: `X-Key: @key.txt` becomes
    /// `X-Key: @/home/me/key.txt`. Returns a header without an `@` unchanged.
    fn with_full_path(&self, header: String) -> String {
        match header.split_once('@') {
            Some((start, path)) => format!("{start}@{}", resolve(self.folder, path).display()),
            None => header,
        }
    }
}

/// Resolves a path relative to a folder. Leaves absolute paths, and those that begin with `~`, as
/// they are.
fn resolve(folder: &Path, path: &str) -> PathBuf {
    if path.starts_with('~') {
        path.into()
    } else {
        folder.join(path)
    }
}

/// Returns the key that corresponds to an option, e.g. `builtin` for `no-builtin`. A key of an
/// `[[openapi]]` table comes with the name of the table: `[[openapi]] file`.
pub(super) fn key_of_option(option: &str) -> Option<String> {
    if let Some(key) = KEYS.iter().find(|key| key.option == option) {
        return Some(key.name.to_owned());
    }
    #[cfg(feature = "openapi")]
    if let Some(key) = OPENAPI_KEYS.iter().find(|key| key.option == option) {
        return Some(format!("[[{OPENAPI}]] {}", key.name));
    }
    None
}

/// Returns whether a settings file lets agents edit prompts. Invalid TOML doesn't.
pub(super) fn may_edit(settings: &str) -> bool {
    let Ok(document) = settings.parse::<DocumentMut>() else {
        return false;
    };
    document.get("edit").and_then(Item::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses a settings file. Returns it together with its problems, formatted as lines.
    fn parsed(text: &str) -> (SettingsFile, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let file = parse(&folder.path().join("config.toml"), text);
        let problems = file.settings.problems.iter().map(line_of).collect();
        (file, problems)
    }

    fn line_of(problem: &Diagnostic) -> String {
        match problem.position {
            Some(position) => format!("{position}: {}", problem.text()),
            None => problem.text().to_string(),
        }
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
                "2:11: `prompts` must be a list of strings; correct it, or delete the line",
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
            let (file, problems) = parsed(&format!("builtin = false\n{line}\n"));
            assert!(
                problems.len() == 1 && problems[0].contains(want),
                "{line}: {problems:?}"
            );
            assert!(
                file.folders.no_builtin && !file.settings.is_unusable,
                "{line}"
            );
        }
    }

    #[test]
    fn a_problem_with_a_key_of_menus_anywhere_makes_the_menus_unknown() {
        for (text, want) in [
            (
                "[[openapi]]\nfile = 'x'\nmenus = ['codex']",
                "move it above the first table",
            ),
            (
                "[a.b]\nmenus-only = 'x'",
                "2:1: `menus-only` is in a table; move it above the first table",
            ),
            (
                "menus = 3",
                "1:9: `menus` must be a list of strings; correct it, or delete the line",
            ),
            (
                "menus-only = 3",
                "1:14: `menus-only` must be in quotes; correct it, or delete the line",
            ),
            (
                "menus-onyl = 'x'",
                "1:1: there is no key `menus-onyl`; did you mean `menus-only`?",
            ),
        ] {
            let (file, problems) = parsed(text);
            let error = file.settings.menus_error.as_ref().map(line_of);
            assert!(
                error.is_some_and(|error| error.contains(want)),
                "{text}: {problems:?}"
            );
        }
        let (file, problems) = parsed("menus = ['codex']\npromts = []");
        assert!(file.settings.menus_error.is_none(), "{problems:?}");
    }

    #[test]
    fn a_header_that_is_wrong_is_not_repeated() {
        let (_, problems) =
            parsed("[[openapi]]\nfile = 'x'\nheaders = ['Authorization: Bearer hunter2']");
        assert!(
            problems.len() == 1 && !problems[0].contains("hunter2"),
            "{problems:?}"
        );
    }

    #[test]
    fn every_key_is_read_and_a_relative_path_is_one_beside_the_file() {
        let (file, problems) = parsed(
            "prompts = ['a', 'claude:~/b']\nfrom-agents = true\nbuiltin = true\nmentions = false\nedit = true\nhistory = 3\n\
             page-size = 7\nresult-limit = 900\nlog-file = 'x.log'\nlog-level = 'debug'\ntap = '/t'\nusage = false\ntrusted = ['/r']\n\
             [[openapi]]\nfile = 'o.yaml'\noperations = ['a', 'b']\nbase = 'https://a.example'\n\
             headers = ['Authorization: Bearer $TOKEN']\nallow-private = true\n[[openapi]]\nfile = 'p.yaml'\n",
        );
        assert_eq!(problems, Vec::<String>::new());
        let folders = file.folders;
        let prompts = folders.prompts;
        assert!(
            prompts[0].is_absolute() && prompts[0].ends_with("a"),
            "{prompts:?}"
        );
        assert_eq!(prompts[1], PathBuf::from("claude:~/b"));
        assert!(folders.from_agents && !folders.no_builtin && folders.no_mentions);
        assert!(file.settings.is_usage_off);
        #[cfg(feature = "openapi")]
        assert_eq!(
            file.settings
                .openapi
                .iter()
                .map(|document| document.openapi_operation.len())
                .collect::<Vec<_>>(),
            [2, 0]
        );
    }

    #[test]
    fn a_text_that_is_not_toml_is_unusable() {
        let (file, problems) = parsed("a = 1\nprompts = [");
        assert!(
            file.settings.is_unusable && problems[0].contains("2:12: this is not TOML"),
            "{problems:?}"
        );
    }
}
