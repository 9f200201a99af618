//! Edits the settings file, `config.toml`: the list of trusted repositories, the menus of agents,
//! and the team. The rest of the file stays as it is, including comments.

use super::output;
use super::user_folders::{self, TRUSTED, is_users_own};
use crate::agents::ConfigFile;
use crate::menus::MenuSettings;
use crate::prompt::{Diagnostic, Position};
use anyhow::bail;
use std::path::{Path, PathBuf};
use toml_edit::{Array, Document, DocumentMut, Item, Table, TomlError, Value};

/// The keys of the menus of agents.
pub(super) const MENUS: &str = "menus";
pub(super) const MENUS_ALL: &str = "menus-all";
pub(super) const MENUS_ONLY: &str = "menus-only";

/// The keys of the team.
pub(super) const TEAM: &str = "team";
pub(super) const TEAM_TOKEN_FILE: &str = "team-token-file";
pub(super) const TEAM_TOKEN_VARIABLE: &str = "team-token-env";

/// The number of the first line of a settings file.
pub(super) const FIRST_LINE: usize = 1;

/// The fix for a file that cannot be used.
pub(super) const REPAIR: &str =
    "correct it, and restart the agents, or use --no-config; until then, no prompt can be expanded";

/// Returns the diagnostic for a file that isn't valid TOML.
pub(super) fn toml_error(error: &toml_edit::TomlError, text: &str) -> Diagnostic {
    let position = error
        .span()
        .map(|span| Position::in_text(text, span.start, FIRST_LINE));
    let message = error.message().trim_end().replace('\n', ", ");
    Diagnostic::error(position, format!("this is not TOML: {message}"), REPAIR)
}

/// Sets the list of trusted repositories in a settings file. Creates the file if it doesn't exist.
///
/// # Errors
/// Fails if the file is inside a project, isn't valid TOML, or can't be written.
pub(super) fn set_trusted(path: &Path, roots: &[String]) -> anyhow::Result<()> {
    if !is_users_own(path) {
        bail!(
            "{} is inside a project, where `trusted` is ignored; leave out --config",
            output::full_path(path)
        );
    }
    let mut file = ConfigFile::read_settings(path.to_owned())?;
    let text = file.original_text();
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error| toml_error(&error, text).in_file(path))?;
    let list = Value::from(roots.iter().collect::<Array>());
    set_keeping_comments(document.as_table_mut(), TRUSTED, list);
    file.edited = Some(document.to_string());
    Ok(file.write()?)
}

/// Returns a settings file with these settings of menus, which is not written yet. The file has the
/// `current` ones: a key stays as it is written if its value doesn't change. A key whose new value
/// is the default is removed.
///
/// # Errors
/// Fails if the file is inside a project, can't be read, or isn't valid TOML.
pub(super) fn with_menus(
    path: PathBuf,
    current: &MenuSettings,
    menus: &MenuSettings,
) -> anyhow::Result<ConfigFile> {
    let mut values = Vec::new();
    if menus.agents != current.agents {
        let names: Array = menus.agents.iter().map(|agent| agent.name).collect();
        values.push((MENUS, (!names.is_empty()).then(|| Value::from(names))));
    }
    if menus.all != current.all {
        values.push((MENUS_ALL, menus.all.then(|| Value::from(true))));
    }
    if menus.only != current.only {
        values.push((MENUS_ONLY, menus.only.as_ref().map(Value::from)));
    }
    with_values(path, values)
}

/// Returns a settings file with the team at this address, which is not written yet. The keys that
/// say where its token is are removed, because the token is in the file `team-token`. Without an
/// address, returns the file without a team.
///
/// # Errors
/// Fails if the file is inside a project, can't be read, or isn't valid TOML.
#[cfg(feature = "openapi")]
pub(super) fn with_team(path: PathBuf, url: Option<&str>) -> anyhow::Result<ConfigFile> {
    let values = vec![
        (TEAM, url.map(Value::from)),
        (TEAM_TOKEN_FILE, None),
        (TEAM_TOKEN_VARIABLE, None),
    ];
    with_values(path, values)
}

/// Returns a settings file with these values of keys, which is not written yet. Keys without a
/// value are removed. If nothing else is in the file, it is [deleted](set_text_or_delete).
fn with_values(path: PathBuf, values: Vec<(&str, Option<Value>)>) -> anyhow::Result<ConfigFile> {
    if let Some((key, _)) = values.first()
        && !is_users_own(&path)
    {
        bail!(
            "{} is inside a project, where `{key}` is ignored; leave out --config",
            output::full_path(&path)
        );
    }
    let mut file = ConfigFile::read_settings(path)?;
    let mut text = file.original_text().to_owned();
    for (key, value) in values {
        text = with_key(&text, key, value)
            .map_err(|error| toml_error(&error, &text).in_file(&*file.path))?;
    }
    if text != file.original_text() {
        set_text_or_delete(&mut file, text);
    }
    Ok(file)
}

/// Sets the text to write. A file without any text is deleted, unless its path is a symlink, which
/// would then be broken.
fn set_text_or_delete(file: &mut ConfigFile, text: String) {
    if text.trim().is_empty() && !file.path.is_symlink() {
        file.edited = None;
    } else {
        file.edited = Some(text);
    }
}

/// Returns the text of a settings file in which a key has this value, or is missing if there is
/// none. A string that is the same already stays as it is written.
fn with_key(text: &str, key: &str, value: Option<Value>) -> Result<String, TomlError> {
    let Some(value) = value else {
        let remaining_text = text_without_key(text, key)?;
        return Ok(remaining_text.unwrap_or_else(|| text.to_owned()));
    };
    let mut document: DocumentMut = text.parse()?;
    let old = document.get(key).and_then(Item::as_str);
    if old.is_some() && old == value.as_str() {
        return Ok(text.to_owned());
    }
    set_keeping_comments(document.as_table_mut(), key, value);
    Ok(document.to_string())
}

/// Plans to remove the list of trusted repositories from the default settings file, and to delete
/// the file if nothing else is in it. Returns `None` if there is no such list.
///
/// # Errors
/// Fails if the file can't be read, or isn't valid TOML.
pub(super) fn plan_removal_of_trusted() -> anyhow::Result<Option<ConfigFile>> {
    let Some(folder) = user_folders::config() else {
        return Ok(None);
    };
    let mut file = ConfigFile::read_settings(folder.join("config.toml"))?;
    let text = file.original_text();
    let remaining_text = text_without_key(text, TRUSTED)
        .map_err(|error| toml_error(&error, text).in_file(&*file.path))?;
    let Some(remaining_text) = remaining_text else {
        return Ok(None);
    };
    set_text_or_delete(&mut file, remaining_text);
    Ok(Some(file))
}

/// Returns the text of a settings file without the lines of a key, or `None` if there is no such
/// key. Unlike `toml_edit`, keeps the comments above the key.
fn text_without_key(text: &str, key: &str) -> Result<Option<String>, TomlError> {
    let document = Document::parse(text)?;
    let Some((key, value)) = document.get_key_value(key) else {
        return Ok(None);
    };
    let (Some(key_span), Some(value_span)) = (key.span(), value.span()) else {
        return Ok(None);
    };
    // Remove whole lines, from the one with the key to the one with the end of the value.
    let first_line_start = match text[..key_span.start].rfind('\n') {
        Some(newline) => newline + 1,
        None => 0,
    };
    let next_line_start = match text[value_span.end..].find('\n') {
        Some(newline) => value_span.end + newline + 1,
        None => text.len(),
    };
    let text_before = &text[..first_line_start];
    let text_after = &text[next_line_start..];
    Ok(Some(format!("{text_before}{text_after}")))
}

/// Sets a key, and keeps the comment on its line if the key exists.
fn set_keeping_comments(table: &mut Table, key: &str, mut value: Value) {
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    table[key] = Item::Value(value);
}
