//! Edits of TOML, with `toml_edit`, which Codex also uses to write its config.

use super::entry::{Entry, syntax_error, wrong_kind};
use crate::prompt::{Diagnostic, Position};
use serde_json::{Number, Value};
use toml_edit::{Document, DocumentMut, Item, RawString, Table, TableLike, TomlError};

/// See [`Syntax::parse`](super::Syntax::parse).
pub(super) fn parse(text: &str) -> Result<Value, Diagnostic> {
    let document = Document::parse(text).map_err(|error| not_toml(&error, text))?;
    Ok(of_item(document.as_item()))
}

/// See [`Syntax::position`](super::Syntax::position).
pub(super) fn position(text: &str, keys: &[String]) -> Option<Position> {
    let document = Document::parse(text).ok()?;
    let (mut start, mut item) = (0, document.as_item());
    for key in keys {
        let (name, value) = item.as_table_like()?.get_key_value(key)?;
        start = name
            .span()
            .or_else(|| value.span())
            .map_or(start, |span| span.start);
        item = value;
    }
    Some(Position::in_text(text, start, 1))
}

/// See [`Syntax::set`](super::Syntax::set).
pub(super) fn set(
    text: &str,
    keys: &[String],
    entry: &Entry,
    replaced: bool,
) -> Result<String, Diagnostic> {
    let Some((name, parents)) = keys.split_last() else {
        return Ok(text.to_owned());
    };
    let mut document = document(text)?;
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let table = table_at(&mut document, text, parents)?;
    match table.get_mut(name).and_then(Item::as_table_like_mut) {
        // The comment above it stays.
        Some(known) if replaced => known.clear(),
        None if replaced => _ = table.remove(name),
        _ => {}
    }
    match table.get_mut(name).map(Item::as_table_like_mut) {
        None => {
            let pairs = entry
                .all()
                .map(|(key, value)| (key, Item::Value(to_toml(value))));
            table.insert(name, Item::Table(pairs.collect()));
            if let Some(new) = table.get_mut(name).and_then(Item::as_table_mut)
                && put_last(new, &trailing)
            {
                document.set_trailing("");
            }
        }
        Some(None) => return Err(not_a_table(text, keys)),
        Some(Some(known)) => set_required(known, entry),
    }
    Ok(with_line_endings_of(text, document.to_string()))
}

/// See [`Syntax::remove`](super::Syntax::remove).
pub(super) fn remove(text: &str, keys: &[String]) -> Result<String, Diagnostic> {
    let mut document = document(text)?;
    let mut changed = if let Some(table) = header_at(&mut document, keys) {
        empty(table);
        without_header(&document.to_string(), keys)
    } else {
        let comment = remove_from(document.as_table_mut(), keys).unwrap_or_default();
        if comment.contains('#') {
            let rest = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(format!("{comment}{rest}"));
        }
        document.to_string()
    };
    if !text.starts_with(['\n', '\r']) {
        changed = changed.trim_start_matches(['\n', '\r']).to_owned(); // the empty lines after the removed table
    }
    Ok(with_line_endings_of(text, changed))
}

/// Puts a new table below everything else, even below the comments at the end of the text: one of
/// them may be a commented-out key of the table above. Returns whether the new table has taken them
/// over.
fn put_last(table: &mut Table, trailing: &str) -> bool {
    table.set_position(Some(isize::MAX));
    let has_comment = trailing.contains('#');
    if has_comment {
        table
            .decor_mut()
            .set_prefix(format!("{}\n\n", trailing.trim_end()));
    }
    has_comment
}

/// Returns the table at the end of these keys, if it has a header of its own.
fn header_at<'d>(document: &'d mut DocumentMut, keys: &[String]) -> Option<&'d mut Table> {
    let mut table = document.as_table_mut();
    for key in keys {
        table = table.get_mut(key)?.as_table_mut()?;
    }
    Some(table).filter(|table| !table.is_implicit() && !table.is_dotted())
}

/// Removes all that is in a table, and the empty lines between it and what is above.
fn empty(table: &mut Table) {
    table.clear();
    let above = table.decor().prefix().and_then(RawString::as_str);
    let comment = above.filter(|above| above.contains('#')).map(str::trim_end);
    let kept = comment.map_or(String::new(), |comment| format!("{comment}\n"));
    table.decor_mut().set_prefix(kept);
}

/// Returns the text without the line of the header of an empty table.
fn without_header(text: &str, keys: &[String]) -> String {
    let Some(position) = position(text, keys) else {
        return text.to_owned();
    };
    let lines = text.split_inclusive('\n').enumerate();
    lines
        .filter(|(index, _)| index + 1 != position.line)
        .map(|(_, line)| line)
        .collect()
}

/// The table at the end of these keys, created if it is missing.
fn table_at<'d>(
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
        table = item
            .as_table_like_mut()
            .ok_or_else(|| not_a_table(text, &keys[..=depth]))?;
    }
    Ok(table)
}

/// Gives an existing entry what it must have, and an empty one all of a new one.
fn set_required(known: &mut dyn TableLike, entry: &Entry) {
    if known.is_empty() {
        for (key, value) in &entry.initial {
            known.insert(key, Item::Value(to_toml(value)));
        }
    }
    for (key, value) in &entry.required {
        let Some(value) = value else {
            known.remove(key);
            continue;
        };
        let item = known.entry(key).or_insert(Item::None);
        if of_item(item) != *value {
            let mut new = to_toml(value);
            if let Some(old) = item.as_value() {
                *new.decor_mut() = old.decor().clone(); // the spaces and the comment around it
            }
            *item = Item::Value(new);
        }
    }
}

fn not_a_table(text: &str, keys: &[String]) -> Diagnostic {
    wrong_kind(keys, "a table", position(text, keys))
}

fn document(text: &str) -> Result<DocumentMut, Diagnostic> {
    text.parse().map_err(|error| not_toml(&error, text))
}

fn not_toml(error: &TomlError, text: &str) -> Diagnostic {
    syntax_error(
        text,
        error.span().map_or(0, |span| span.start),
        error.message(),
    )
}

/// A value of an entry in TOML. No entry has a null, or a number.
fn to_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(boolean) => (*boolean).into(),
        Value::Array(values) => toml_edit::Value::Array(values.iter().map(to_toml).collect()),
        Value::Object(pairs) => pairs
            .iter()
            .map(|(key, value)| (key.as_str(), to_toml(value)))
            .collect::<toml_edit::InlineTable>()
            .into(),
        other => other.as_str().unwrap_or_default().into(),
    }
}

/// Removes what is at the end of the keys, and the tables on the way that are empty then; returns
/// the comment above it.
fn remove_from(table: &mut dyn TableLike, keys: &[String]) -> Option<String> {
    let (key, below) = keys.split_first()?;
    if below.is_empty() {
        let decor = table.key(key).map(|key| key.leaf_decor().clone());
        table.remove(key)?;
        return decor?
            .prefix()
            .and_then(RawString::as_str)
            .map(str::to_owned);
    }
    let parent = table.get_mut(key)?.as_table_like_mut()?;
    let above = remove_from(parent, below);
    let is_implicit = table
        .get(key)
        .and_then(Item::as_table)
        .is_some_and(|parent| parent.is_implicit());
    if is_implicit
        && table
            .get(key)
            .and_then(Item::as_table_like)
            .is_some_and(|parent| parent.is_empty())
    {
        table.remove(key);
    }
    above
}

/// A text with the line endings of another, if that is CRLF throughout.
fn with_line_endings_of(text: &str, changed: String) -> String {
    let is_crlf =
        text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
    if is_crlf {
        changed.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        changed
    }
}

fn of_item(item: &Item) -> Value {
    item.clone()
        .into_value()
        .map_or(Value::Null, |value| of_value(&value))
}

fn of_value(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::String(text.value().clone()),
        toml_edit::Value::Integer(number) => Value::Number((*number.value()).into()),
        toml_edit::Value::Float(number) => {
            Number::from_f64(*number.value()).map_or(Value::Null, Value::Number)
        }
        toml_edit::Value::Boolean(boolean) => Value::Bool(*boolean.value()),
        toml_edit::Value::Datetime(time) => Value::String(time.value().to_string()),
        toml_edit::Value::Array(array) => Value::Array(array.iter().map(of_value).collect()),
        toml_edit::Value::InlineTable(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.to_owned(), of_value(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Syntax;
    use super::super::tests::{entry, keys, there_and_back};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_is_added_to_toml_and_removed_and_all_else_stays() {
        let new = "[mcp_servers.prompts]\ncommand = \"/p\"\nargs = [\"a b\"]\n";
        there_and_back(Syntax::Toml, "", new, "");
        let before = "# c\nmodel = \"x\"   # d\n\n[mcp_servers.other] # e\ncommand = 'y'\n\n[profiles.z]\na = 1\n# f\n";
        there_and_back(Syntax::Toml, before, &format!("{before}\n{new}"), before);
        there_and_back(
            Syntax::Toml,
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
            there_and_back(Syntax::Toml, before, &format!("{before}\n{new}"), before);
        }
        // Earlier versions have put it there.
        let text = "[mcp_servers.o]\ncommand = 'y'\n# args = []\n[mcp_servers.prompts]\ncommand = 'x'\n[a]\n";
        let want = "[mcp_servers.o]\ncommand = 'y'\n# args = []\n[a]\n";
        assert_eq!(remove(text, &keys("mcp_servers.prompts")).unwrap(), want);
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
                true,
            )
            .unwrap();
            let table = "[mcp_servers.prompts] # c\nenv = {}\ncommand = \"/p\"\n";
            assert_eq!(replaced, format!("{before}{table}\n# d\n[a]\n"));
        }
        let replaced = set("[s]\np = 1\n", &keys("s.p"), &entry(&[]), true).unwrap();
        assert_eq!(
            Syntax::Toml.parse(&replaced).unwrap()["s"]["p"]["command"],
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
            let Ok(old) = Syntax::Toml.parse(&text) else { return Ok(()) };
            let keys = keys("mcp_servers.prompts");
            let mut entry = entry(&["x"]);
            entry.initial.clear();
            let changed = set(&text, &keys, &entry, false).unwrap();
            let mut new = Syntax::Toml.parse(&changed).unwrap();
            prop_assert_eq!(new["mcp_servers"]["prompts"]["args"].clone(), serde_json::json!(["x"]), "{}", changed);
            prop_assert_eq!(set(&changed, &keys, &entry, false).unwrap(), changed.as_str());
            let removed = remove(&changed, &keys).unwrap();
            let without = Syntax::Toml.parse(&removed).unwrap();
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
