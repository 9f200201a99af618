//! Edits of TOML, with `toml_edit`, which Codex also uses to write its config.

use super::entry::{Entry, SetMode, syntax_error, wrong_kind};
use crate::prompt::{Diagnostic, Position};
use serde_json::{Map, Number, Value};
use toml_edit::{Document, DocumentMut, Item, RawString, Table, TableLike, TomlError};

/// Parses a text.
pub(super) fn parse(text: &str) -> Result<Value, Diagnostic> {
    match Document::parse(text) {
        Ok(document) => Ok(json_of_item(document.as_item())),
        Err(error) => Err(not_toml(&error, text)),
    }
}

/// Returns the position of the last of these keys, in a text that can be parsed.
pub(super) fn position(text: &str, keys: &[impl AsRef<str>]) -> Option<Position> {
    let document = Document::parse(text).ok()?;
    let mut start = 0;
    let mut item = document.as_item();
    for key in keys {
        let (name, value) = item.as_table_like()?.get_key_value(key.as_ref())?;
        if let Some(span) = name.span().or(value.span()) {
            start = span.start;
        }
        item = value;
    }
    Some(Position::in_text(text, start, 1))
}

/// Returns the text with an entry at the end of these keys.
///
/// # Errors
/// A value on the way is no table.
pub(super) fn set(
    text: &str,
    keys: &[String],
    entry: &Entry,
    mode: SetMode,
) -> Result<String, Diagnostic> {
    let Some((name, parents)) = keys.split_last() else {
        return Ok(text.to_owned());
    };
    let mut document = document(text)?;
    let parent = table_or_new(&mut document, text, parents)?;
    if mode == SetMode::Replace {
        clear(parent, name);
    }
    let is_new = !parent.contains_key(name);
    if is_new {
        parent.insert(name, Item::Table(new_table(entry)));
    } else {
        let existing = parent.get_mut(name).and_then(Item::as_table_like_mut);
        set_required(existing.ok_or_else(|| not_a_table(text, keys))?, entry);
    }
    if is_new {
        put_last(&mut document, keys);
    }
    Ok(with_line_endings_of(text, document.to_string()))
}

/// Makes the table of this name empty, or removes another value. A comment above the table stays.
fn clear(parent: &mut dyn TableLike, name: &str) {
    match parent.get_mut(name).and_then(Item::as_table_like_mut) {
        Some(table) => table.clear(),
        None => _ = parent.remove(name),
    }
}

fn new_table(entry: &Entry) -> Table {
    let mut table = Table::new();
    for (key, value) in entry.all() {
        table.insert(key, Item::Value(to_toml(value)));
    }
    table
}

/// Returns the text without the value at the end of these keys, and without the tables that are
/// empty then. A comment above the value stays.
pub(super) fn remove(text: &str, keys: &[String]) -> Result<String, Diagnostic> {
    let mut document = document(text)?;
    let mut changed = if let Some(table) = table_with_header(&mut document, keys) {
        empty(table);
        without_header(&document.to_string(), keys)
    } else {
        let comment = remove_from(document.as_table_mut(), keys).unwrap_or_default();
        if comment.contains('#') {
            let trailing = document.trailing().as_str().unwrap_or_default();
            document.set_trailing(format!("{comment}{trailing}"));
        }
        document.to_string()
    };
    if !text.starts_with(['\n', '\r']) {
        // The empty lines after the removed table.
        changed = changed.trim_start_matches(['\n', '\r']).to_owned();
    }
    Ok(with_line_endings_of(text, changed))
}

/// Puts a new table below everything else, even below the comments at the end of the text: one of
/// them may be a commented-out key of the table above.
fn put_last(document: &mut DocumentMut, keys: &[String]) {
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let has_comment = trailing.contains('#');
    let Some(table) = table_at(document, keys) else {
        return;
    };
    table.set_position(Some(isize::MAX));
    if has_comment {
        let comment = format!("{}\n\n", trailing.trim_end());
        table.decor_mut().set_prefix(comment);
        document.set_trailing("");
    }
}

/// Returns the table at the end of these keys, if all of them lead to tables that are not inline.
fn table_at<'d>(document: &'d mut DocumentMut, keys: &[String]) -> Option<&'d mut Table> {
    let mut table = document.as_table_mut();
    for key in keys {
        table = table.get_mut(key)?.as_table_mut()?;
    }
    Some(table)
}

/// Returns the table at the end of these keys, if it has a header of its own.
fn table_with_header<'d>(document: &'d mut DocumentMut, keys: &[String]) -> Option<&'d mut Table> {
    let table = table_at(document, keys)?;
    if table.is_implicit() || table.is_dotted() {
        return None;
    }
    Some(table)
}

/// Removes all that is in a table, and the empty lines between it and what is above.
fn empty(table: &mut Table) {
    table.clear();
    let above = table.decor().prefix().and_then(RawString::as_str);
    let kept = match above {
        Some(above) if above.contains('#') => format!("{}\n", above.trim_end()),
        _ => String::new(),
    };
    table.decor_mut().set_prefix(kept);
}

/// Returns the text without the line of the header of an empty table.
fn without_header(text: &str, keys: &[String]) -> String {
    let Some(position) = position(text, keys) else {
        return text.to_owned();
    };
    let mut without = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if index + 1 != position.line {
            without.push_str(line);
        }
    }
    without
}

/// Returns the table at the end of these keys, created if it is missing.
fn table_or_new<'d>(
    document: &'d mut DocumentMut,
    text: &str,
    keys: &[String],
) -> Result<&'d mut dyn TableLike, Diagnostic> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, key) in keys.iter().enumerate() {
        let item = table.entry(key).or_insert_with(|| {
            let mut parent = Table::new();
            parent.set_implicit(true);
            Item::Table(parent)
        });
        let below = item.as_table_like_mut();
        table = below.ok_or_else(|| not_a_table(text, &keys[..=depth]))?;
    }
    Ok(table)
}

/// Gives an existing table what an entry requires; an empty one gets all of a new entry.
fn set_required(table: &mut dyn TableLike, entry: &Entry) {
    if table.is_empty() {
        for (key, value) in &entry.initial {
            table.insert(key, Item::Value(to_toml(value)));
        }
    }
    for (key, value) in &entry.required {
        match value {
            Some(value) => set_value(table.entry(key).or_insert(Item::None), value),
            None => _ = table.remove(key),
        }
    }
}

/// Sets a value. One that is equal stays as it is written; another keeps the spaces and the comment
/// around it.
fn set_value(item: &mut Item, value: &Value) {
    if json_of_item(item) == *value {
        return;
    }
    let mut new = to_toml(value);
    if let Some(old) = item.as_value() {
        *new.decor_mut() = old.decor().clone();
    }
    *item = Item::Value(new);
}

fn not_a_table(text: &str, keys: &[String]) -> Diagnostic {
    wrong_kind(keys, "a table", position(text, keys))
}

fn document(text: &str) -> Result<DocumentMut, Diagnostic> {
    text.parse().map_err(|error| not_toml(&error, text))
}

fn not_toml(error: &TomlError, text: &str) -> Diagnostic {
    let start = error.span().map_or(0, |span| span.start);
    syntax_error(text, start, error.message())
}

/// Returns a value of an entry in TOML. No entry has a null, or a number.
fn to_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(boolean) => (*boolean).into(),
        Value::Array(values) => toml_edit::Value::Array(values.iter().map(to_toml).collect()),
        Value::Object(pairs) => {
            let mut table = toml_edit::InlineTable::new();
            for (key, value) in pairs {
                table.insert(key, to_toml(value));
            }
            table.into()
        }
        other => other.as_str().unwrap_or_default().into(),
    }
}

/// Removes the value at the end of the keys, and the tables on the way that are empty then and have
/// no header. Returns the comment above the value.
fn remove_from(table: &mut dyn TableLike, keys: &[String]) -> Option<String> {
    let (key, below) = keys.split_first()?;
    if below.is_empty() {
        let decor = table.key(key)?.leaf_decor().clone();
        table.remove(key)?;
        return Some(decor.prefix()?.as_str()?.to_owned());
    }
    let item = table.get_mut(key)?;
    let comment = remove_from(item.as_table_like_mut()?, below);
    let is_superfluous = match item.as_table() {
        Some(parent) => parent.is_implicit() && parent.is_empty(),
        None => false,
    };
    if is_superfluous {
        table.remove(key);
    }
    comment
}

/// Returns a changed text with the line endings of the original, if these are CRLF throughout.
fn with_line_endings_of(original: &str, changed: String) -> String {
    let crlf_count = original.matches("\r\n").count();
    if crlf_count == 0 || crlf_count < original.matches('\n').count() {
        return changed;
    }
    changed.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Returns the value of an item in JSON; null if it has none.
fn json_of_item(item: &Item) -> Value {
    match item.clone().into_value() {
        Ok(value) => json_of(&value),
        Err(_) => Value::Null,
    }
}

/// Returns a value of TOML in JSON, where a time is a string.
fn json_of(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number((*number.value()).into()),
        toml_edit::Value::Float(number) => {
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        toml_edit::Value::Boolean(boolean) => Value::Bool(*boolean.value()),
        toml_edit::Value::Datetime(time) => Value::String(time.value().to_string()),
        toml_edit::Value::Array(array) => Value::Array(array.iter().map(json_of).collect()),
        toml_edit::Value::InlineTable(table) => {
            let mut object = Map::new();
            for (key, value) in table {
                object.insert(key.to_owned(), json_of(value));
            }
            Value::Object(object)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigSyntax;
    use super::super::tests::{entry, keys, there_and_back};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_is_added_to_toml_and_removed_and_all_else_stays() {
        let new = "[mcp_servers.prompts]\ncommand = \"/p\"\nargs = [\"a b\"]\n";
        there_and_back(ConfigSyntax::Toml, "", new, "");
        let before = "# c\nmodel = \"x\"   # d\n\n[mcp_servers.other] # e\ncommand = 'y'\n\n[profiles.z]\na = 1\n# f\n";
        there_and_back(
            ConfigSyntax::Toml,
            before,
            &format!("{before}\n{new}"),
            before,
        );
        there_and_back(
            ConfigSyntax::Toml,
            "a = 1\r\n",
            &format!("a = 1\n\n{new}").replace('\n', "\r\n"),
            "a = 1\r\n",
        );
    }

    #[test]
    fn no_comment_of_another_table_is_below_the_entry_or_moves_when_that_is_removed() {
        let new = "[mcp_servers.prompts]\ncommand = \"/p\"\nargs = [\"a b\"]\n";
        for before in [
            "# model = 'x'\n",
            "[a]\nb = 1\n# c = 2\n",
            "[mcp_servers.o]\ncommand = 'y'\n# args = []\n\n[a]\nb = 1\n\n  # c = 2\n",
        ] {
            there_and_back(
                ConfigSyntax::Toml,
                before,
                &format!("{before}\n{new}"),
                before,
            );
        }
    }

    #[test]
    fn no_empty_line_remains_where_an_entry_was_first() {
        let text = "[mcp_servers.prompts]\ncommand = 'x'\n\n[a]\nb = 1\n";
        assert_eq!(
            remove(text, &keys("mcp_servers.prompts")).unwrap(),
            "[a]\nb = 1\n"
        );
    }

    #[test]
    fn a_comment_above_an_entry_of_toml_stays_when_it_is_replaced() {
        let text = "[mcp_servers.prompts] # c\ncommand = 'x'\n[mcp_servers.prompts.env]\nE = 'e'\n\n# d\n[a]\n";
        for before in ["", "# mine\n"] {
            let replaced = set(
                &format!("{before}{text}"),
                &keys("mcp_servers.prompts"),
                &entry(&[]),
                SetMode::Replace,
            )
            .unwrap();
            let table = "[mcp_servers.prompts] # c\nenv = {}\ncommand = \"/p\"\n";
            assert_eq!(replaced, format!("{before}{table}\n# d\n[a]\n"));
        }
        let replaced = set("[s]\np = 1\n", &keys("s.p"), &entry(&[]), SetMode::Replace).unwrap();
        assert_eq!(
            ConfigSyntax::Toml.parse(&replaced).unwrap()["s"]["p"]["command"],
            "/p"
        );
    }

    #[test]
    fn a_comment_above_an_entry_of_toml_stays_when_it_is_removed() {
        let text = "a = 1\n\n# mine\n[mcp_servers.prompts]\ncommand = 'x'\n";
        assert_eq!(
            remove(text, &keys("mcp_servers.prompts")).unwrap(),
            "a = 1\n\n# mine\n"
        );
    }

    proptest! {
        #[test]
        fn in_any_toml_only_the_entry_changes(
            pieces in prop::sample::subsequence(
                vec![
                    "# c\n", "a = 1 # c\n", "\n", "mcp_servers = {o = {command='y'}}\n", "mcp_servers.o.command = 'y' # c\n",
                    "mcp_servers.o = {command='y'} # c\n", "[b]\nb = 2\n", "# c\n[mcp_servers] # c\n",
                    "[mcp_servers.o]\ncommand='y' # c\n", "\n  # c\n", "[mcp_servers.o.env]\nE='e'\n", "[[z]]\nk=1\n\n",
                    "[[z]]\n", "# c",
                ],
                0..14,
            ).prop_shuffle(),
        ) {
            let text = pieces.concat();
            let Ok(old) = ConfigSyntax::Toml.parse(&text) else { return Ok(()) };
            let keys = keys("mcp_servers.prompts");
            let mut entry = entry(&["x"]);
            entry.initial.clear();
            let changed = set(&text, &keys, &entry, SetMode::Update).unwrap();
            let mut new = ConfigSyntax::Toml.parse(&changed).unwrap();
            prop_assert_eq!(new["mcp_servers"]["prompts"]["args"].clone(), serde_json::json!(["x"]), "{}", changed);
            prop_assert_eq!(set(&changed, &keys, &entry, SetMode::Update).unwrap(), changed.as_str());
            let removed = remove(&changed, &keys).unwrap();
            let without = ConfigSyntax::Toml.parse(&removed).unwrap();
            new["mcp_servers"].as_object_mut().unwrap().remove("prompts");
            if old.get("mcp_servers").is_none() {
                new.as_object_mut().unwrap().remove("mcp_servers");
            }
            prop_assert_eq!(&new, &old, "{}", changed);
            prop_assert_eq!(&without, &old, "{}", removed);
            for text in [&changed, &removed].map(|changed| (changed, changed.matches("# c").count())) {
                prop_assert_eq!(text.1, pieces.concat().matches("# c").count(), "{}", text.0);
            }
        }
    }
}
