//! Edits TOML with `toml_edit`, which Codex itself uses to write its config.

use super::entry::{Entry, EntryEdit, SetMode, syntax_error, wrong_type};
use crate::prompt::{Diagnostic, Position};
use serde_json::{Map, Number, Value};
use toml_edit::{Document, DocumentMut, InlineTable, Item, RawString, Table, TableLike, TomlError};

/// Parses a TOML text into a JSON value.
pub(super) fn parse(text: &str) -> Result<Value, Diagnostic> {
    match Document::parse(text) {
        Ok(document) => Ok(item_to_json(document.as_item())),
        Err(error) => Err(invalid_toml(&error, text)),
    }
}

/// Returns the position of the last key in a path of keys, or `None` if the path doesn't exist or
/// the text is invalid.
pub(super) fn position(text: &str, keys: &[impl AsRef<str>]) -> Option<Position> {
    let document = Document::parse(text).ok()?;
    let mut start = 0; // if no key in the path has a position
    let mut item = document.as_item();
    for key in keys {
        let (name, value) = item.as_table_like()?.get_key_value(key.as_ref())?;
        // `[a.b.c]` also creates `a` and `a.b`, which may have no position of their own. The
        // position of the closest parent is used then.
        if let Some(span) = name.span().or(value.span()) {
            start = span.start;
        }
        item = value;
    }
    Some(Position::in_file_text(text, start))
}

/// Sets an entry in a TOML text, and creates missing parent tables. Returns the edited text.
///
/// # Errors
/// Fails if the text is invalid, or if a value in the path of keys isn't a table.
pub(super) fn set(text: &str, edit: &EntryEdit) -> Result<String, Diagnostic> {
    let mut document = parse_document(text)?;
    let parent = get_or_create_table(&mut document, text, edit.parent_keys())?;
    let name = edit.name();
    if edit.mode == SetMode::Replace {
        // `update_table` fills a cleared table like a new one.
        clear_or_remove(parent, name);
    }
    if parent.contains_key(name) {
        let existing = parent.get_mut(name).and_then(Item::as_table_like_mut);
        let table = existing.ok_or_else(|| not_a_table(text, edit.keys))?;
        update_table(table, edit.entry);
    } else {
        parent.insert(name, Item::Table(new_table(edit.entry)));
        move_to_end(&mut document, edit.keys);
    }
    Ok(restore_line_endings(text, document.to_string()))
}

/// Clears the table with this name, which preserves a comment above it. Removes any other value.
fn clear_or_remove(parent: &mut dyn TableLike, name: &str) {
    match parent.get_mut(name).and_then(Item::as_table_like_mut) {
        Some(table) => table.clear(),
        None => _ = parent.remove(name),
    }
}

fn new_table(entry: &Entry) -> Table {
    let mut table = Table::new();
    for (key, value) in entry.all() {
        table.insert(key, Item::Value(json_to_toml(value)));
    }
    table
}

/// Removes the value at a path of keys, and parent tables that become empty and have no header of
/// their own. Preserves a comment above the value.
///
/// # Errors
/// Fails if the text is invalid. A missing value is not an error.
pub(super) fn remove(text: &str, keys: &[String]) -> Result<String, Diagnostic> {
    let mut document = parse_document(text)?;
    let mut edited = if let Some(table) = table_with_header(&mut document, keys) {
        // `toml_edit` would remove the comment together with the table, so only clear the table,
        // and remove its header from the text.
        clear_table(table);
        remove_header_line(&document.to_string(), keys)
    } else {
        let comment_above = remove_value(document.as_table_mut(), keys).unwrap_or_default();
        if comment_above.contains('#') {
            let trailing = document.trailing().as_str().unwrap_or_default();
            document.set_trailing(format!("{comment_above}{trailing}"));
        }
        document.to_string()
    };
    if !text.starts_with(['\n', '\r']) {
        // If the first table was removed, the blank line that separated it from the next is left.
        edited = edited.trim_start_matches(['\n', '\r']).to_owned();
    }
    Ok(restore_line_endings(text, edited))
}

/// Sets the handler for an event: updates this program's handler, or adds the tables
/// `[[hooks.EVENT]]` and `[[hooks.EVENT.hooks]]` at the end of the text.
///
/// # Errors
/// Fails if the text is invalid, or if tables can't be added to the hooks in it, because they are
/// written inline, e.g. `hooks = {Stop = […]}`.
pub(super) fn set_hook(
    text: &str,
    event: &str,
    handler: &Entry,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Diagnostic> {
    let mut document = parse_document(text)?;
    if let Some(existing) = find_handler(&mut document, event, is_ours) {
        update_table(existing, handler);
        return Ok(restore_line_endings(text, document.to_string()));
    }
    let separator = if text.trim().is_empty() {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    let table = new_table(handler);
    let edited = format!("{text}{separator}[[hooks.{event}]]\n\n[[hooks.{event}.hooks]]\n{table}");
    if parse(&edited).is_err() {
        let keys = ["hooks".to_owned()];
        let tables = format!("tables such as `[[hooks.{event}]]`");
        return Err(wrong_type(&keys, &tables, position(text, &keys)));
    }
    Ok(restore_line_endings(text, edited))
}

/// Removes this program's handlers of an event, and the groups and the list that have become empty.
/// Preserves comments above them.
///
/// # Errors
/// Fails if the text is invalid. A missing handler is not an error.
pub(super) fn remove_hook(
    text: &str,
    event: &str,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Diagnostic> {
    let mut document = parse_document(text)?;
    if find_handler(&mut document, event, is_ours).is_none() {
        return Ok(text.to_owned());
    }
    let mut comments = String::new();
    if let Some(groups) = groups_of_event(&mut document, event) {
        for group in tables_mut(groups) {
            if let Some(handlers) = group.get_mut("hooks") {
                comments += &remove_tables(handlers, &|handler| is_handler(handler, is_ours));
            }
        }
        comments += &remove_tables(groups, &|group| is_empty_list(group.get("hooks")));
        if is_empty_list(Some(groups)) {
            let keys = ["hooks".to_owned(), event.to_owned()];
            remove_value(document.as_table_mut(), &keys);
        }
    }
    let trailing = document.trailing().as_str().unwrap_or_default();
    document.set_trailing(format!("{comments}{trailing}"));
    Ok(restore_line_endings(text, document.to_string()))
}

/// Returns the first handler of an event that runs this program.
fn find_handler<'d>(
    document: &'d mut DocumentMut,
    event: &str,
    is_ours: &dyn Fn(&str) -> bool,
) -> Option<&'d mut dyn TableLike> {
    for group in tables_mut(groups_of_event(document, event)?) {
        let Some(handlers) = group.get_mut("hooks") else {
            continue;
        };
        for handler in tables_mut(handlers) {
            if is_handler(handler, is_ours) {
                return Some(handler);
            }
        }
    }
    None
}

/// Returns the list of an event's groups, `hooks.EVENT`.
fn groups_of_event<'d>(document: &'d mut DocumentMut, event: &str) -> Option<&'d mut Item> {
    document.get_mut("hooks")?.get_mut(event)
}

/// Returns whether the command of a handler runs this program.
fn is_handler(handler: &dyn TableLike, is_ours: &dyn Fn(&str) -> bool) -> bool {
    let command = handler.get("command").and_then(Item::as_str);
    command.is_some_and(is_ours)
}

/// Returns the tables of a list, which is written as `[[list]]` or as `list = [{…}]`.
fn tables_mut(list: &mut Item) -> Vec<&mut dyn TableLike> {
    let mut tables: Vec<&mut dyn TableLike> = Vec::new();
    match list {
        Item::ArrayOfTables(array) => {
            for table in array.iter_mut() {
                tables.push(table);
            }
        }
        Item::Value(toml_edit::Value::Array(array)) => {
            for value in array.iter_mut() {
                if let Some(table) = value.as_inline_table_mut() {
                    tables.push(table);
                }
            }
        }
        _ => {}
    }
    tables
}

/// Removes tables from a list, which is written as `[[list]]` or as `list = [{…}]`. Returns the
/// comments above the removed tables, with line endings.
fn remove_tables(list: &mut Item, is_unwanted: &dyn Fn(&dyn TableLike) -> bool) -> String {
    let mut comments = String::new();
    match list {
        Item::ArrayOfTables(array) => array.retain(|table| {
            if !is_unwanted(table) {
                return true;
            }
            let above_header = table.decor().prefix().and_then(RawString::as_str);
            comments += above_header.filter(|text| text.contains('#')).unwrap_or("");
            false
        }),
        Item::Value(toml_edit::Value::Array(array)) => array.retain(|value| {
            let table = value.as_inline_table();
            !table.is_some_and(|table| is_unwanted(table))
        }),
        _ => {}
    }
    comments
}

/// Returns whether an item is a list without elements.
fn is_empty_list(item: Option<&Item>) -> bool {
    match item {
        Some(Item::ArrayOfTables(array)) => array.is_empty(),
        Some(Item::Value(toml_edit::Value::Array(array))) => array.is_empty(),
        _ => false,
    }
}

/// Moves a new table to the end of the document, even below trailing comments: one of these may be
/// a commented-out key of the last table.
fn move_to_end(document: &mut DocumentMut, keys: &[String]) {
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let Some(table) = table_at(document, keys) else {
        return; // the entry is in an inline table
    };
    // `toml_edit` writes tables in the order of their positions, so the highest comes last.
    table.set_position(Some(isize::MAX));
    if trailing.contains('#') {
        let comment = format!("{}\n\n", trailing.trim_end());
        table.decor_mut().set_prefix(comment);
        document.set_trailing("");
    }
}

/// Returns the table at a path of keys, if it and all its parents exist and none is inline.
fn table_at<'d>(document: &'d mut DocumentMut, keys: &[String]) -> Option<&'d mut Table> {
    let mut table = document.as_table_mut();
    for key in keys {
        table = table.get_mut(key)?.as_table_mut()?;
    }
    Some(table)
}

/// Returns the table at a path of keys, if it has a `[header]`. Tables can also be implied by the
/// header of a subtable, or written with dotted keys.
fn table_with_header<'d>(document: &'d mut DocumentMut, keys: &[String]) -> Option<&'d mut Table> {
    let table = table_at(document, keys)?;
    if table.is_implicit() || table.is_dotted() {
        return None;
    }
    Some(table)
}

/// Removes all keys of a table. Above its header, keeps comments but removes the blank lines.
fn clear_table(table: &mut Table) {
    table.clear();
    let above_header = table.decor().prefix().and_then(RawString::as_str);
    let new_prefix = match above_header {
        Some(above_header) if above_header.contains('#') => {
            format!("{}\n", above_header.trim_end())
        }
        _ => String::new(),
    };
    table.decor_mut().set_prefix(new_prefix);
}

/// Removes the line that contains the header of a table.
fn remove_header_line(text: &str, keys: &[String]) -> String {
    let Some(header) = position(text, keys) else {
        return text.to_owned();
    };
    let mut remaining = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let line_number = index + 1;
        if line_number != header.line {
            remaining.push_str(line);
        }
    }
    remaining
}

/// Returns the table at a path of keys. Creates missing tables without a header of their own.
///
/// # Errors
/// Fails if a value in the path isn't a table. `text` is the text of the document, for the position
/// of the error.
fn get_or_create_table<'d>(
    document: &'d mut DocumentMut,
    text: &str,
    keys: &[String],
) -> Result<&'d mut dyn TableLike, Diagnostic> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, key) in keys.iter().enumerate() {
        let item = table.entry(key).or_insert_with(|| {
            let mut new_table = Table::new();
            new_table.set_implicit(true);
            Item::Table(new_table)
        });
        let child = item.as_table_like_mut();
        table = child.ok_or_else(|| not_a_table(text, &keys[..=depth]))?;
    }
    Ok(table)
}

/// Sets and removes the keys of an existing table as the entry requires. An empty table also gets
/// the entry's initial values, like a new one.
fn update_table(table: &mut dyn TableLike, entry: &Entry) {
    if table.is_empty() {
        for (key, value) in &entry.initial {
            table.insert(key, Item::Value(json_to_toml(value)));
        }
    }
    for (key, value) in &entry.required {
        match value {
            Some(value) => set_value(table.entry(key).or_insert(Item::None), value),
            None => _ = table.remove(key),
        }
    }
}

/// Sets a value, and preserves the whitespace and the comment around it. Doesn't reformat a value
/// that is already equal.
fn set_value(item: &mut Item, value: &Value) {
    if item_to_json(item) == *value {
        return;
    }
    let mut new_value = json_to_toml(value);
    if let Some(old_value) = item.as_value() {
        *new_value.decor_mut() = old_value.decor().clone();
    }
    *item = Item::Value(new_value);
}

fn not_a_table(text: &str, keys: &[String]) -> Diagnostic {
    wrong_type(keys, "a table", position(text, keys))
}

fn parse_document(text: &str) -> Result<DocumentMut, Diagnostic> {
    text.parse().map_err(|error| invalid_toml(&error, text))
}

fn invalid_toml(error: &TomlError, text: &str) -> Diagnostic {
    let start = error.span().map_or(0, |span| span.start);
    syntax_error(text, start, error.message())
}

/// Converts a value of an [`Entry`] to TOML. Entries contain no nulls, which would become empty
/// strings, and no numbers but integers.
fn json_to_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(boolean) => (*boolean).into(),
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        Value::Array(values) => toml_edit::Value::Array(values.iter().map(json_to_toml).collect()),
        Value::Object(pairs) => {
            let mut table = InlineTable::new();
            for (key, value) in pairs {
                table.insert(key, json_to_toml(value));
            }
            table.into()
        }
        other => other.as_str().unwrap_or_default().into(),
    }
}

/// Removes the value at a path of keys below `table`, and parent tables that become empty and have
/// no header. Returns the whitespace and comments above the value, or `None` if it doesn't exist.
fn remove_value(table: &mut dyn TableLike, keys: &[String]) -> Option<String> {
    let (key, child_keys) = keys.split_first()?;
    if child_keys.is_empty() {
        let decor = table.key(key)?.leaf_decor().clone();
        table.remove(key)?;
        return Some(decor.prefix()?.as_str()?.to_owned());
    }
    let child = table.get_mut(key)?;
    let comment_above = remove_value(child.as_table_like_mut()?, child_keys);
    let is_child_unneeded = match child.as_table() {
        Some(child) => child.is_implicit() && child.is_empty(),
        None => false,
    };
    if is_child_unneeded {
        table.remove(key);
    }
    comment_above
}

/// Restores CRLF line endings, which `toml_edit` may have replaced, if the original text used no
/// others.
fn restore_line_endings(original: &str, edited: String) -> String {
    let crlf_count = original.matches("\r\n").count();
    let line_count = original.matches('\n').count();
    if crlf_count == 0 || crlf_count < line_count {
        return edited;
    }
    edited.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Converts an item to JSON. An item without a value becomes null.
fn item_to_json(item: &Item) -> Value {
    match item.clone().into_value() {
        Ok(value) => value_to_json(&value),
        Err(_) => Value::Null,
    }
}

/// Converts a value to JSON. Dates and times become strings.
fn value_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(string) => Value::String(string.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number((*number.value()).into()),
        toml_edit::Value::Float(number) => {
            // JSON has no infinity or NaN.
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        toml_edit::Value::Boolean(boolean) => Value::Bool(*boolean.value()),
        toml_edit::Value::Datetime(datetime) => Value::String(datetime.value().to_string()),
        toml_edit::Value::Array(array) => Value::Array(array.iter().map(value_to_json).collect()),
        toml_edit::Value::InlineTable(table) => {
            let mut object = Map::new();
            for (key, value) in table {
                object.insert(key.to_owned(), value_to_json(value));
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
            let replaced = ConfigSyntax::Toml
                .set(
                    &format!("{before}{text}"),
                    &keys("mcp_servers.prompts"),
                    &entry(&[]),
                    SetMode::Replace,
                )
                .unwrap();
            let table = "[mcp_servers.prompts] # c\nenv = {}\ncommand = \"/p\"\n";
            assert_eq!(replaced, format!("{before}{table}\n# d\n[a]\n"));
        }
        let replaced = ConfigSyntax::Toml
            .set("[s]\np = 1\n", &keys("s.p"), &entry(&[]), SetMode::Replace)
            .unwrap();
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
            let changed = ConfigSyntax::Toml.set(&text, &keys, &entry, SetMode::Update).unwrap();
            let mut new = ConfigSyntax::Toml.parse(&changed).unwrap();
            prop_assert_eq!(new["mcp_servers"]["prompts"]["args"].clone(), serde_json::json!(["x"]), "{}", changed);
            prop_assert_eq!(ConfigSyntax::Toml.set(&changed, &keys, &entry, SetMode::Update).unwrap(), changed.as_str());
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
