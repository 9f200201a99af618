//! `config.toml`, the one settings file: the server, the hook, the command line and the page read
//! it, so that they agree.
//!
//! A key has the name of an option and takes the same values, which the parser of that option
//! checks. So a key that is wrong does not take the others down.

use super::output;
use super::serve::Serve;
use super::source::{ConfigOptions, PromptSource, Settings, absolute, given, rebased};
use super::user_folders::{self, TRUSTED, is_own, read_text, texts, trusted};
#[cfg(feature = "openapi")]
use super::{source::TEAM, team::TeamKeys};
use crate::agents::ConfigFile;
use crate::prompt::similar::closest;
use crate::prompt::{Diagnostic, Position};
use crate::sources::Trust;
use crate::sources::pack::lock::LOCK;
use crate::wording::{all_of, named};
use anyhow::bail;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Array, Document, DocumentMut, Item, Table, Value};

/// Each key, and the option that has its meaning; `trusted` has none.
const KEYS: [(&str, &str); 15] = [
    ("prompts", "prompts"),
    ("from-agents", "from-agents"),
    ("builtin", "no-builtin"),
    ("mentions", "no-mentions"),
    ("edit", "edit"),
    ("history", "history"),
    ("page-size", "page-size"),
    ("result-limit", "result-limit"),
    ("log-file", "log-file"),
    ("log-level", "log-level"),
    ("tap", "tap"),
    ("team", "team"),
    ("team-token-file", "team-token-file"),
    ("team-token-env", "team-token-env"),
    (TRUSTED, ""),
];

/// The same of a table `[[openapi]]`.
const OPENAPI_KEYS: [(&str, &str); 5] = [
    ("file", "openapi"),
    ("operations", "openapi-operation"),
    ("base", "openapi-base"),
    ("headers", "openapi-header"),
    ("allow-private", "openapi-allow-private"),
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

// The options that have keys.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Keys {
    #[command(flatten)]
    source: PromptSource,
    #[command(flatten)]
    serve: Serve,
    #[cfg(feature = "openapi")]
    #[command(flatten)]
    team: TeamKeys,
}

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

/// The options of the server: those of a line, and the keys of the settings file where an option is
/// not given.
pub(super) fn serve(settings: &Settings, line: &ArgMatches) -> Result<Serve, clap::Error> {
    if settings.words.is_empty() && line.subcommand().is_none() {
        return Serve::from_arg_matches(line); // which halves the time of a start
    }
    let given = given(&Serve::augment_args(Command::new("")), line, Path::new(""));
    let words = settings.words.iter().cloned().chain(given);
    let matches = Keys::command()
        .args_override_self(true)
        .try_get_matches_from(words)?;
    Serve::from_arg_matches(&matches)
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

/// What a settings file says.
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
    let words = reader.words(document.as_table(), &KEYS);
    // All of these were accepted one by one before.
    let folders = |words: &[OsString]| {
        Keys::try_parse_from(words)
            .map(|keys| keys.source.folders)
            .unwrap_or_default()
    };
    let mut settings = Settings {
        folders: folders(&words),
        ..Settings::default()
    };
    #[cfg(feature = "openapi")]
    match Keys::try_parse_from(&words)
        .map(|keys| keys.team)
        .unwrap_or_default()
        .team(reader.folder)
    {
        Ok(team) => team.into_iter().for_each(|team| _ = TEAM.set(team)),
        Err(why) => reader.problem(document.get("team").and_then(Item::span), why, "correct it"),
    }
    settings.words = words;
    let tables = document
        .get(OPENAPI)
        .filter(|_| reader.is_own)
        .and_then(Item::as_array_of_tables);
    for table in tables.into_iter().flatten() {
        let folders = folders(&reader.words(table, &OPENAPI_KEYS));
        if !table.contains_key("file") {
            reader.problem(
                table.span(),
                "an `[[openapi]]` needs a `file`".to_owned(),
                "add one",
            );
        }
        #[cfg(feature = "openapi")]
        settings.openapi.push(folders.openapi);
        #[cfg(not(feature = "openapi"))]
        drop(folders);
    }
    settings.problems = reader
        .problems
        .into_iter()
        .map(|diagnostic| diagnostic.in_file(path))
        .collect();
    settings
}

/// Turns keys into the words of a command line.
struct Reader<'t> {
    text: &'t str,
    folder: &'t Path,
    is_own: bool,
    problems: Vec<Diagnostic>,
}

impl Reader<'_> {
    fn words(&mut self, table: &Table, rows: &[(&str, &str)]) -> Vec<OsString> {
        let mut words = Vec::new();
        for (key, item) in table.iter() {
            let at_key = table.key(key).and_then(toml_edit::Key::span);
            let option = rows
                .iter()
                .find(|(known, _)| *known == key)
                .map(|(_, option)| *option);
            if !self.is_own && OWN.contains(&key) {
                let fix = "write it into your own settings file, in your configuration folder";
                self.problem(
                    at_key,
                    format!("{} is not taken from a file inside a project", named(key)),
                    fix,
                );
                continue;
            }
            match option {
                _ if key == OPENAPI && rows == KEYS => {
                    if item.as_array_of_tables().is_none() {
                        self.problem(
                            item.span(),
                            "it must be tables: `[[openapi]]`".to_owned(),
                            "correct it",
                        );
                    }
                }
                Some(option) => match self.value(option, key, item) {
                    Ok(value) => words.extend(value),
                    Err(message) => {
                        self.problem(item.span(), message, "correct it, or delete the line")
                    }
                },
                None => {
                    let known = rows
                        .iter()
                        .map(|(known, _)| *known)
                        .chain((rows == KEYS).then_some(OPENAPI));
                    let fix = match closest(key, known.clone()) {
                        Some(meant) => format!("did you mean {}?", named(meant)),
                        None => format!(
                            "delete it; the keys are {}",
                            all_of(&known.collect::<Vec<_>>())
                        ),
                    };
                    self.problem(at_key, format!("there is no key {}", named(key)), &fix);
                }
            }
        }
        words
    }

    /// The option with its values, as words; `Err`: why it is not valid.
    fn value(&self, option: &str, key: &str, item: &Item) -> Result<Vec<OsString>, String> {
        let (command, flag) = (Keys::command(), OsString::from(format!("--{option}")));
        let arg = command
            .get_arguments()
            .find(|arg| arg.get_long() == Some(option));
        let number = || item.as_integer().map(|number| number.to_string());
        let (values, shape) = match arg.map_or(&ArgAction::Append, Arg::get_action) {
            ArgAction::Append => (texts(item), "a list of texts"),
            ArgAction::Set => (
                item.as_str()
                    .map(str::to_owned)
                    .or_else(number)
                    .map(|one| vec![one]),
                "one value",
            ),
            _ => {
                let value = item
                    .as_bool()
                    .ok_or_else(|| format!("{} must be true or false", named(key)))?;
                return Ok((value != option.starts_with("no-"))
                    .then_some(flag)
                    .into_iter()
                    .collect());
            }
        };
        let values = values.ok_or_else(|| format!("{} must be {shape}", named(key)))?;
        let Some(arg) = arg else {
            return Ok(Vec::new());
        };
        let in_words =
            |value: &String| [flag.clone(), rebased(arg, OsStr::new(value), self.folder)];
        let words: Vec<OsString> = values.iter().flat_map(in_words).collect();
        // The other options of a document are of no use without one.
        let document =
            (option != OPENAPI && option.starts_with(OPENAPI)).then(|| "--openapi=x".into());
        let alone = command
            .clone()
            .try_get_matches_from(words.iter().cloned().chain(document));
        alone.map_err(|error| output::without_usage(&error.to_string()))?;
        Ok(words)
    }

    fn problem(&mut self, span: Option<Range<usize>>, message: String, fix: &str) {
        let position = span.map(|span| Position::in_text(self.text, span.start, 1));
        self.problems
            .push(Diagnostic::error(position, message, fix));
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
    let text = file.texts()[0];
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
    if let Some((key, _)) = KEYS.iter().find(|(_, known)| *known == option) {
        return Some((*key).to_owned());
    }
    let (key, _) = OPENAPI_KEYS.iter().find(|(_, known)| *known == option)?;
    Some(format!("[[{OPENAPI}]] {key}"))
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
