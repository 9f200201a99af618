//! Changes of a text of TOML.

use super::{Entry, Node, of_another_kind};
use crate::client::syntax::{Fault, Position, Syntax};
use toml_edit::{DocumentMut, Item, RawString, Table, TableLike};

/// See [`super::set`].
pub(super) fn set(text: &str, keys: &[String], entry: &Entry, replaced: bool) -> Result<String, Fault> {
    let Some((name, parents)) = keys.split_last() else { return Ok(text.to_owned()) };
    let mut document = parse(text)?;
    let table = table_at(&mut document, text, parents)?;
    if replaced {
        table.remove(name);
    }
    match table.get_mut(name).map(Item::as_table_like_mut) {
        None => {
            let is_inline = !parents.is_empty() && is_inline(table);
            table.insert(name, new_item(entry, is_inline));
        }
        Some(None) => return Err(of_another_kind(Syntax::Toml, text, keys)),
        Some(Some(known)) => set_own(known, entry),
    }
    Ok(with_line_ends_of(text, document.to_string()))
}

/// See [`super::remove`].
pub(super) fn remove(text: &str, keys: &[String]) -> Result<String, Fault> {
    let mut document = parse(text)?;
    let comment = remove_from(document.as_table_mut(), keys).unwrap_or_default();
    if comment.contains('#') {
        let rest = document.trailing().as_str().unwrap_or_default().to_owned();
        document.set_trailing(format!("{comment}{rest}"));
    }
    let mut changed = document.to_string();
    if !text.starts_with(['\n', '\r']) {
        changed = changed.trim_start_matches(['\n', '\r']).to_owned(); // what stood between it and our table
    }
    Ok(with_line_ends_of(text, changed))
}

/// The table at the end of these keys, made where there is none.
fn table_at<'d>(document: &'d mut DocumentMut, text: &str, keys: &[String]) -> Result<&'d mut dyn TableLike, Fault> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, key) in keys.iter().enumerate() {
        let item = table.entry(key).or_insert_with(|| {
            let mut parent = Table::new();
            parent.set_implicit(true);
            Item::Table(parent)
        });
        let fault = || of_another_kind(Syntax::Toml, text, &keys[..=depth]);
        table = item.as_table_like_mut().ok_or_else(fault)?;
    }
    Ok(table)
}

/// An entry that was not there, as a table of its own or within braces.
fn new_item(entry: &Entry, is_inline: bool) -> Item {
    let pairs = entry.pairs_of_new().into_iter().map(|(key, node)| (key, value_of(&node)));
    if is_inline {
        Item::Value(toml_edit::Value::InlineTable(pairs.collect()))
    } else {
        Item::Table(pairs.map(|(key, value)| (key, Item::Value(value))).collect())
    }
}

/// Gives an entry that is there what must be so.
fn set_own(known: &mut dyn TableLike, entry: &Entry) {
    for (key, node) in &entry.own {
        match (node.as_ref().map(value_of), known.get_mut(key)) {
            (None, _) => _ = known.remove(key),
            (Some(value), None) => _ = known.insert(key, Item::Value(value)),
            (Some(value), Some(item)) => set_value(item, value),
        }
    }
}

fn parse(text: &str) -> Result<DocumentMut, Fault> {
    Syntax::Toml.parse(text)?; // says it better
    text.parse().map_err(|error| Fault { position: Position { line: 1, column: 1 }, message: format!("{error}") })
}

/// Sets a value, and leaves the blanks and the comment around it.
fn set_value(item: &mut Item, mut value: toml_edit::Value) {
    if let Some(old) = item.as_value() {
        if old.to_string().trim() == value.to_string().trim() || is_same(old, &value) {
            return;
        }
        *value.decor_mut() = old.decor().clone();
    }
    *item = Item::Value(value);
}

/// Whether two values are the same, however they are written.
fn is_same(a: &toml_edit::Value, b: &toml_edit::Value) -> bool {
    match (a, b) {
        (toml_edit::Value::String(a), toml_edit::Value::String(b)) => a.value() == b.value(),
        (toml_edit::Value::Array(a), toml_edit::Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| is_same(a, b))
        }
        _ => false,
    }
}

fn is_inline(table: &dyn TableLike) -> bool {
    table.iter().next().is_some_and(|(_, item)| item.is_inline_table())
}

fn value_of(node: &Node) -> toml_edit::Value {
    match node {
        Node::Text(text) => text.as_str().into(),
        Node::Flag(flag) => (*flag).into(),
        Node::Number(number) => i64::from(*number).into(),
        Node::List(nodes) => toml_edit::Value::Array(nodes.iter().map(value_of).collect()),
        Node::Object(pairs) => {
            toml_edit::Value::InlineTable(pairs.iter().map(|(key, node)| (*key, value_of(node))).collect())
        }
    }
}

/// Removes what is at the end of the keys, and the tables on the way that are empty then; gives what stood above it.
fn remove_from(table: &mut dyn TableLike, keys: &[String]) -> Option<String> {
    let (key, below) = keys.split_first()?;
    if below.is_empty() {
        let above = |decor: &toml_edit::Decor| decor.prefix().and_then(RawString::as_str).map(str::to_owned);
        let of_key = table.key(key).and_then(|key| above(key.leaf_decor()));
        let of_table = table.get(key).and_then(Item::as_table).and_then(|table| above(table.decor()));
        table.remove(key)?;
        return of_table.or(of_key);
    }
    let parent = table.get_mut(key)?.as_table_like_mut()?;
    let above = remove_from(parent, below);
    let is_implicit = table.get(key).and_then(Item::as_table).is_some_and(|parent| parent.is_implicit());
    if is_implicit && table.get(key).and_then(Item::as_table_like).is_some_and(|parent| parent.is_empty()) {
        table.remove(key);
    }
    above
}

/// The line ends that a text had, if it had but one kind.
fn with_line_ends_of(text: &str, changed: String) -> String {
    let is_crlf = text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
    if is_crlf { changed.replace("\r\n", "\n").replace('\n', "\r\n") } else { changed }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{entry, keys, there_and_back};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_goes_into_toml_and_out_again_and_all_else_stays() {
        let new = "[mcp_servers.prompts]\ncommand = \"/p\"\nargs = [\"a b\"]\n";
        there_and_back(Syntax::Toml, "", new, "");
        let before = "# c\nmodel = \"x\"   # d\n\n[mcp_servers.other] # e\ncommand = 'y'\n\n[profiles.z]\na = 1\n# f\n";
        there_and_back(Syntax::Toml, before, &before.replace("\n[profiles", &format!("\n{new}\n[profiles")), before);
        there_and_back(Syntax::Toml, "a = 1\r\n", &format!("a = 1\n\n{new}").replace('\n', "\r\n"), "a = 1\r\n");
    }

    #[test]
    fn no_blank_line_is_left_where_an_entry_was_first() {
        let text = "[mcp_servers.prompts]\ncommand = 'x'\n\n[a]\nb = 1\n";
        assert_eq!(remove(text, &keys("mcp_servers.prompts")).unwrap(), "[a]\nb = 1\n");
    }

    #[test]
    fn a_comment_above_an_entry_of_toml_outlives_it() {
        let text = "a = 1\n\n# mine\n[mcp_servers.prompts]\ncommand = 'x'\n";
        assert_eq!(remove(text, &keys("mcp_servers.prompts")).unwrap(), "a = 1\n\n# mine\n");
    }

    proptest! {
        #[test]
        fn of_any_toml_only_the_entry_changes(
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
            entry.of_new.clear();
            let changed = set(&text, &keys, &entry, false).unwrap();
            let mut new = Syntax::Toml.parse(&changed).unwrap();
            prop_assert_eq!(new["mcp_servers"]["prompts"]["args"].clone(), serde_json::json!(["x"]), "{}", changed);
            prop_assert_eq!(set(&changed, &keys, &entry, false).unwrap(), changed.as_str());
            let removed = remove(&changed, &keys).unwrap();
            let left = Syntax::Toml.parse(&removed).unwrap();
            new["mcp_servers"].as_object_mut().unwrap().remove("prompts");
            if old.get("mcp_servers").is_none() {
                new.as_object_mut().unwrap().remove("mcp_servers");
            }
            prop_assert_eq!(&new, &old, "{}", changed);
            prop_assert_eq!(&left, &old, "{}", removed);
            for text in [&changed, &removed].map(|changed| (changed, changed.matches("# c").count())) {
                prop_assert_eq!(text.1, pieces.concat().matches("# c").count(), "{}", text.0);
            }
        }
    }
}
