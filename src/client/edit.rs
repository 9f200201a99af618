//! Changes of a config's text, of which all else stays as it is: comments, order, blanks and line ends.
//!
//! The text must be one that [`Syntax::parse`] takes. A key that is there twice on the way to a change is an error: nobody can
//! say which of the two a client reads.

use super::syntax::{Fault, Position, Syntax};
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use toml_edit::{DocumentMut, Item, RawString, Table, TableLike};

/// A value that we write.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Text(String),
    Flag(bool),
    Number(u32),
    List(Vec<Node>),
    Object(Vec<(&'static str, Node)>),
}

/// What an entry is to hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    /// What must be so; `None` must not be there.
    pub(super) own: Vec<(&'static str, Option<Node>)>,
    /// What a new entry also gets, and an old one may have otherwise.
    pub(super) of_new: Vec<(&'static str, Node)>,
}

/// The text with the entry at the end of these keys. An entry that is there keeps what we say nothing about, unless it is to be
/// `replaced`.
pub(super) fn set(syntax: Syntax, text: &str, keys: &[String], entry: &Entry, replaced: bool) -> Result<String, Fault> {
    let [parents @ .., name] = keys else { return Ok(text.to_owned()) };
    let pairs_of_new = || {
        let own = entry.own.iter().filter_map(|(key, node)| Some((*key, node.clone()?)));
        own.chain(entry.of_new.iter().cloned()).collect::<Vec<_>>()
    };
    if syntax == Syntax::Toml {
        let mut document = toml(text)?;
        let mut table: &mut dyn TableLike = document.as_table_mut();
        for (depth, key) in parents.iter().enumerate() {
            let item = table.entry(key).or_insert_with(|| {
                let mut parent = Table::new();
                parent.set_implicit(true);
                Item::Table(parent)
            });
            let fault = || of_another_kind(syntax, text, &keys[..=depth]);
            table = item.as_table_like_mut().ok_or_else(fault)?;
        }
        if replaced {
            table.remove(name);
        }
        match table.get_mut(name).map(Item::as_table_like_mut) {
            None => {
                let pairs = pairs_of_new().into_iter().map(|(key, node)| (key, toml_value(&node)));
                let item = if parents.is_empty() || !is_inline(table) {
                    Item::Table(pairs.map(|(key, value)| (key, Item::Value(value))).collect())
                } else {
                    Item::Value(toml_edit::Value::InlineTable(pairs.collect()))
                };
                table.insert(name, item);
            }
            Some(None) => return Err(of_another_kind(syntax, text, keys)),
            Some(Some(known)) => {
                for (key, node) in &entry.own {
                    match (node.as_ref().map(toml_value), known.get_mut(key)) {
                        (None, _) => _ = known.remove(key),
                        (Some(value), None) => _ = known.insert(key, Item::Value(value)),
                        (Some(value), Some(item)) => set_toml(item, value),
                    }
                }
            }
        }
        return Ok(with_line_ends_of(text, document.to_string()));
    }
    let root = json(syntax, text)?;
    let mut object = root.object_value_or_set();
    for (depth, key) in parents.iter().enumerate() {
        only_once(syntax, text, &object, &keys[..=depth])?;
        object = match object.get(key) {
            None => object.append(key, CstInputValue::Object(Vec::new())).object_value_or_set(),
            Some(property) => property.object_value().ok_or_else(|| of_another_kind(syntax, text, &keys[..=depth]))?,
        };
    }
    only_once(syntax, text, &object, keys)?;
    match object.get(name) {
        Some(property) if !replaced => {
            let known = property.object_value().ok_or_else(|| of_another_kind(syntax, text, keys))?;
            for (key, node) in &entry.own {
                only_once(syntax, text, &known, &[keys, &[(*key).to_owned()]].concat())?;
                match (node, known.get(key)) {
                    (None, None) => {}
                    (None, Some(property)) => property.remove(),
                    (Some(node), None) => _ = known.append(key, node.into()),
                    (Some(node), Some(property)) if property.value().is_some_and(|value| node.is(&value)) => {}
                    (Some(node), Some(property)) => property.set_value(node.into()),
                }
            }
            for (key, node) in &entry.own {
                if matches!(node, Some(Node::List(_)))
                    && let Some(list) = known.array_value(key)
                {
                    in_lines(&list);
                }
            }
        }
        there => {
            let value = CstInputValue::from(&Node::Object(pairs_of_new()));
            let property = match there {
                None => object.append(name, value),
                Some(property) => {
                    property.set_value(value);
                    property
                }
            };
            let properties = property.object_value().map(|entry| entry.properties()).unwrap_or_default();
            properties.iter().filter_map(|property| property.array_value()).for_each(|list| in_lines(&list));
        }
    }
    Ok(root.to_string())
}

/// The text without what is at the end of these keys, and without the objects on the way to it that are empty then.
pub(super) fn remove(syntax: Syntax, text: &str, keys: &[String]) -> Result<String, Fault> {
    if syntax == Syntax::Toml {
        let mut document = toml(text)?;
        let comment = remove_toml(document.as_table_mut(), keys).unwrap_or_default();
        if comment.contains('#') {
            let rest = document.trailing().as_str().unwrap_or_default().to_owned();
            document.set_trailing(format!("{comment}{rest}"));
        }
        return Ok(with_line_ends_of(text, document.to_string()));
    }
    let root = json(syntax, text)?;
    let mut objects = vec![root.object_value_or_set()];
    for (depth, key) in keys.iter().enumerate() {
        let object = &objects[depth];
        only_once(syntax, text, object, &keys[..=depth])?;
        let Some(property) = object.get(key) else { return Ok(text.to_owned()) };
        match property.object_value() {
            Some(below) if depth + 1 < keys.len() => objects.push(below),
            _ if depth + 1 < keys.len() => return Ok(text.to_owned()),
            _ => property.remove(),
        }
    }
    remove_empty(&objects, keys);
    Ok(root.to_string())
}

/// The text with a handler of an event's hook; a handler whose command is ours takes the new command, and is the only one.
pub(super) fn set_hook(
    syntax: Syntax,
    text: &str,
    event: &str,
    command: &str,
    timeout: u32,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Fault> {
    let root = json(syntax, text)?;
    let keys = ["hooks".to_owned(), event.to_owned()];
    let object = root.object_value_or_set();
    only_once(syntax, text, &object, &keys[..1])?;
    let hooks = match object.get(&keys[0]) {
        None => object.append(&keys[0], CstInputValue::Object(Vec::new())).object_value_or_set(),
        Some(property) => property.object_value().ok_or_else(|| of_another_kind(syntax, text, &keys[..1]))?,
    };
    only_once(syntax, text, &hooks, &keys)?;
    let groups = match hooks.get(event) {
        None => hooks.append(event, CstInputValue::Array(Vec::new())).array_value_or_set(),
        Some(property) => property
            .array_value()
            .ok_or_else(|| fault(syntax, text, &keys, format!("`hooks.{event}` must be a list, and is not")))?,
    };
    let mut ours = handlers(&groups, is_ours).into_iter();
    match ours.next() {
        None => {
            let handler = Node::Object(vec![
                ("type", Node::Text("command".to_owned())),
                ("command", Node::Text(command.to_owned())),
                ("timeout", Node::Number(timeout)),
            ]);
            groups.append((&Node::Object(vec![("hooks", Node::List(vec![handler]))])).into());
        }
        Some((_, handler)) => {
            if let Some(property) = handler.get("command")
                && !property.value().is_some_and(|value| Node::Text(command.to_owned()).is(&value))
            {
                property.set_value(command.into());
            }
            ours.for_each(|(group, handler)| remove_handler(&group, handler));
        }
    }
    Ok(root.to_string())
}

/// The text without the handlers of an event's hook whose command is ours, and without what is empty then.
pub(super) fn remove_hook(
    syntax: Syntax,
    text: &str,
    event: &str,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Fault> {
    let root = json(syntax, text)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(hooks) = object.object_value("hooks") else { return Ok(text.to_owned()) };
    let Some(groups) = hooks.array_value(event) else { return Ok(text.to_owned()) };
    let ours = handlers(&groups, is_ours);
    if ours.is_empty() {
        return Ok(text.to_owned());
    }
    ours.into_iter().for_each(|(group, handler)| remove_handler(&group, handler));
    if groups.elements().is_empty() && !has_comment(&groups.children()) {
        if let Some(property) = hooks.get(event) {
            property.remove();
        }
        remove_empty(&[object, hooks], &["hooks".to_owned(), event.to_owned()]);
    }
    Ok(root.to_string())
}

impl Node {
    /// Whether a value is this one. (Never for an object, which we never compare.)
    fn is(&self, value: &CstNode) -> bool {
        match self {
            Node::Text(text) => {
                value.as_string_lit().and_then(|value| value.decoded_value().ok()).as_deref() == Some(text)
            }
            Node::Flag(flag) => value.as_boolean_lit().is_some_and(|value| value.value() == *flag),
            Node::Number(number) => value.as_number_lit().is_some_and(|value| value.to_string() == number.to_string()),
            Node::List(nodes) => value.as_array().is_some_and(|value| {
                let elements = value.elements();
                elements.len() == nodes.len() && nodes.iter().zip(&elements).all(|(node, element)| node.is(element))
            }),
            Node::Object(_) => false,
        }
    }
}

impl From<&Node> for CstInputValue {
    fn from(node: &Node) -> Self {
        match node {
            Node::Text(text) => text.as_str().into(),
            Node::Flag(flag) => (*flag).into(),
            Node::Number(number) => CstInputValue::Number(number.to_string()),
            Node::List(nodes) => CstInputValue::Array(nodes.iter().map(Into::into).collect()),
            Node::Object(pairs) => {
                CstInputValue::Object(pairs.iter().map(|(key, node)| ((*key).to_owned(), node.into())).collect())
            }
        }
    }
}

fn json(syntax: Syntax, text: &str) -> Result<CstRootNode, Fault> {
    syntax.json(text)?; // says it better
    CstRootNode::parse(text, &syntax.json_options())
        .map_err(|error| Fault { position: Position { line: 1, column: 1 }, message: error.to_string() })
}

fn fault(syntax: Syntax, text: &str, keys: &[String], message: String) -> Fault {
    Fault { position: syntax.position(text, keys).unwrap_or(Position { line: 1, column: 1 }), message }
}

fn of_another_kind(syntax: Syntax, text: &str, keys: &[String]) -> Fault {
    let wanted = if syntax == Syntax::Toml { "a table" } else { "an object" };
    fault(syntax, text, keys, format!("`{}` must be {wanted}, and is not", keys.join(".")))
}

/// Refuses an object that has the last of these keys twice.
fn only_once(syntax: Syntax, text: &str, object: &CstObject, keys: &[String]) -> Result<(), Fault> {
    let key = keys.last().map(String::as_str);
    let properties = object.properties();
    match properties.iter().filter(|property| property.decoded_name().as_deref() == key).count() {
        0 | 1 => Ok(()),
        _ => {
            let message = format!("`{}` is there twice; join the two, or remove one", keys.join("."));
            Err(fault(syntax, text, keys, message))
        }
    }
}

/// A list as the clients write it: each value in a line of its own.
fn in_lines(list: &CstArray) {
    if !list.elements().is_empty() {
        list.ensure_multiline();
    }
}

/// The handlers whose command is ours, each with its group.
fn handlers(groups: &CstArray, is_ours: &dyn Fn(&str) -> bool) -> Vec<(CstObject, CstObject)> {
    let groups = groups.elements().into_iter().filter_map(|group| group.as_object());
    let of_group = |group: CstObject| {
        let handlers = group.array_value("hooks").map(|handlers| handlers.elements()).unwrap_or_default();
        handlers.into_iter().filter_map(move |handler| Some((group.clone(), handler.as_object()?)))
    };
    let command = |handler: &CstObject| handler.get("command")?.value()?.as_string_lit()?.decoded_value().ok();
    groups.flat_map(of_group).filter(|(_, handler)| command(handler).is_some_and(|line| is_ours(&line))).collect()
}

/// Removes a handler, and its group if it was all that it had.
fn remove_handler(group: &CstObject, handler: CstObject) {
    handler.remove();
    let is_empty = |list: CstArray| list.elements().is_empty() && !has_comment(&list.children());
    if group.array_value("hooks").is_some_and(is_empty) && group.properties().len() == 1 {
        group.clone().remove();
    }
}

/// Removes the objects that are empty: each is at the end of one key more.
fn remove_empty(objects: &[CstObject], keys: &[String]) {
    for depth in (1..objects.len()).rev() {
        let is_empty = objects[depth].properties().is_empty() && !has_comment(&objects[depth].children());
        match objects[depth - 1].get(&keys[depth - 1]) {
            Some(property) if is_empty => property.remove(),
            _ => return,
        }
    }
}

fn has_comment(nodes: &[CstNode]) -> bool {
    nodes.iter().any(CstNode::is_comment)
}

fn toml(text: &str) -> Result<DocumentMut, Fault> {
    Syntax::Toml.parse(text)?; // says it better
    text.parse().map_err(|error| Fault { position: Position { line: 1, column: 1 }, message: format!("{error}") })
}

/// Sets a value, and leaves the blanks and the comment around it.
fn set_toml(item: &mut Item, mut value: toml_edit::Value) {
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

fn toml_value(node: &Node) -> toml_edit::Value {
    match node {
        Node::Text(text) => text.as_str().into(),
        Node::Flag(flag) => (*flag).into(),
        Node::Number(number) => i64::from(*number).into(),
        Node::List(nodes) => toml_edit::Value::Array(nodes.iter().map(toml_value).collect()),
        Node::Object(pairs) => {
            toml_edit::Value::InlineTable(pairs.iter().map(|(key, node)| (*key, toml_value(node))).collect())
        }
    }
}

/// Removes what is at the end of the keys, and the tables on the way that are empty then; gives what stood above it.
fn remove_toml(table: &mut dyn TableLike, keys: &[String]) -> Option<String> {
    let (key, below) = keys.split_first()?;
    if below.is_empty() {
        let above = |decor: &toml_edit::Decor| decor.prefix().and_then(RawString::as_str).map(str::to_owned);
        let of_key = table.key(key).and_then(|key| above(key.leaf_decor()));
        let of_table = table.get(key).and_then(Item::as_table).and_then(|table| above(table.decor()));
        table.remove(key)?;
        return of_table.or(of_key);
    }
    let parent = table.get_mut(key)?.as_table_like_mut()?;
    let above = remove_toml(parent, below);
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
    use super::*;

    const JSON: Syntax = Syntax::Json { comments: true, trailing_commas: true };

    fn entry(args: &[&str]) -> Entry {
        let list = |args: &[&str]| Node::List(args.iter().map(|arg| Node::Text((*arg).to_owned())).collect());
        Entry {
            own: vec![("command", Some(Node::Text("/p".to_owned()))), ("args", (!args.is_empty()).then(|| list(args)))],
            of_new: vec![("env", Node::Object(Vec::new()))],
        }
    }

    fn keys(keys: &str) -> Vec<String> {
        keys.split('.').map(str::to_owned).collect()
    }

    /// Puts an entry in, and takes it out again.
    #[track_caller]
    fn there_and_back(syntax: Syntax, before: &str, with: &str, after: &str) {
        let keys = keys(if syntax == Syntax::Toml { "mcp_servers.prompts" } else { "s.prompts" });
        let mut entry = entry(&["a b"]);
        if syntax == Syntax::Toml {
            entry.of_new.clear();
        }
        let changed = set(syntax, before, &keys, &entry, false).unwrap();
        assert_eq!(changed, with);
        assert_eq!(set(syntax, &changed, &keys, &entry, false).unwrap(), with, "twice");
        assert_eq!(remove(syntax, &changed, &keys).unwrap(), after);
    }

    #[test]
    fn an_entry_goes_into_json_and_out_again_and_all_else_stays() {
        let new = "\"prompts\": {\n      \"command\": \"/p\",\n      \"args\": [\n        \"a b\"\n      ],\n      \"env\": {}\n    }";
        there_and_back(JSON, "", &format!("{{\n  \"s\": {{\n    {new}\n  }}\n}}\n"), "{}\n");
        there_and_back(
            JSON,
            "// c\n{\n  \"a\": 1, // d\n  \"s\": {\n    // e\n    \"x\": {\"command\": \"y\"}, // f\n  },\n  \"b\": [1,2],\n}\n",
            &format!(
                "// c\n{{\n  \"a\": 1, // d\n  \"s\": {{\n    // e\n    \"x\": {{\"command\": \"y\"}}, // f\n    {},\n  }},\n  \
                 \"b\": [1,2],\n}}\n",
                new.replace("{}", "{},") // the file has commas behind the last of each object
            ),
            "// c\n{\n  \"a\": 1, // d\n  \"s\": {\n    // e\n    \"x\": {\"command\": \"y\"}, // f\n  },\n  \"b\": [1,2],\n}\n",
        );
        there_and_back(
            JSON,
            "{\r\n  \"a\": 1\r\n}\r\n",
            &format!("{{\n  \"a\": 1,\n  \"s\": {{\n    {new}\n  }}\n}}\n").replace('\n', "\r\n"),
            "{\r\n  \"a\": 1\r\n}\r\n",
        );
        there_and_back(
            JSON,
            "{\n\t\"a\": 1\n}\n",
            &format!("{{\n  \"a\": 1,\n  \"s\": {{\n    {new}\n  }}\n}}\n").replace("  ", "\t"),
            "{\n\t\"a\": 1\n}\n",
        );
    }

    #[test]
    fn an_entry_goes_into_toml_and_out_again_and_all_else_stays() {
        let new = "[mcp_servers.prompts]\ncommand = \"/p\"\nargs = [\"a b\"]\n";
        there_and_back(Syntax::Toml, "", new, "");
        let before = "# c\nmodel = \"x\"   # d\n\n[mcp_servers.other] # e\ncommand = 'y'\n\n[profiles.z]\na = 1\n# f\n";
        there_and_back(Syntax::Toml, before, &before.replace("\n[profiles", &format!("\n{new}\n[profiles")), before);
        there_and_back(Syntax::Toml, "a = 1\r\n", &format!("a = 1\n\n{new}").replace('\n', "\r\n"), "a = 1\r\n");
    }

    #[test]
    fn an_entry_that_is_there_keeps_what_is_not_ours_to_say() {
        let keys = keys("s.prompts");
        for (syntax, before, after) in [
            (
                JSON,
                "{\"s\": {\"prompts\": {\"command\": \"/old\" /* c */, \"args\": [\"x\"], \"env\": {\"E\": \"e\"}}}}",
                "{\"s\": {\"prompts\": {\"command\": \"/p\" /* c */, \"env\": {\"E\": \"e\"}}}}",
            ),
            (
                Syntax::Toml,
                "[s.prompts]\ncommand = '/old' # c\nargs = [ 'x' ]\nenv = {E = 'e'}\n[s.prompts.tools.t]\nu = 1\n",
                "[s.prompts]\ncommand = \"/p\" # c\nenv = {E = 'e'}\n[s.prompts.tools.t]\nu = 1\n",
            ),
        ] {
            assert_eq!(set(syntax, before, &keys, &entry(&[]), false).unwrap(), after);
            let replaced = set(syntax, before, &keys, &entry(&[]), true).unwrap();
            assert!(!replaced.contains("/old") && !replaced.contains('E') && !replaced.contains("tools"), "{replaced}");
        }
    }

    #[test]
    fn a_comment_above_an_entry_of_toml_outlives_it() {
        let text = "a = 1\n\n# mine\n[mcp_servers.prompts]\ncommand = 'x'\n";
        assert_eq!(remove(Syntax::Toml, text, &keys("mcp_servers.prompts")).unwrap(), "a = 1\n\n# mine\n");
    }

    #[test]
    fn what_is_there_twice_or_of_another_kind_is_left_alone() {
        for (text, place, message) in [
            ("{\"s\": {},\n \"s\": {}}", "2:2", "`s` is there twice; join the two, or remove one"),
            (
                "{\"s\": {\"prompts\": {},\n \"prompts\": {}}}",
                "2:2",
                "`s.prompts` is there twice; join the two, or remove one",
            ),
            ("{\"s\": []}", "1:2", "`s` must be an object, and is not"),
            ("{\"s\": {\"prompts\": \"x\"}}", "1:8", "`s.prompts` must be an object, and is not"),
        ] {
            let fault = set(JSON, text, &keys("s.prompts"), &entry(&[]), false).unwrap_err();
            assert_eq!((fault.position.to_string().as_str(), fault.message.as_str()), (place, message));
        }
    }

    #[test]
    fn a_hook_is_put_beside_others_once_and_taken_out_again() {
        let is_ours = |line: &str| line.starts_with("/p hook");
        let set = |text: &str, command: &str| set_hook(JSON, text, "Submit", command, 5, &is_ours).unwrap();
        let remove = |text: &str| remove_hook(JSON, text, "Submit", &is_ours).unwrap();
        let before = "{\n  \"hooks\": {\n    \"Submit\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"log\" }] }\n    ]\n  }\n}\n";
        let with = set(before, "/p hook x");
        assert!(with.starts_with(&before[..before.len() - 15]), "{with}");
        assert!(with.contains("\"command\": \"/p hook x\",\n            \"timeout\": 5\n"), "{with}");
        assert_eq!(set(&with, "/p hook x"), with);
        assert_eq!(set(&with, "/p hook y"), with.replace("hook x", "hook y"));
        assert_eq!(remove(&with), before);
        assert_eq!(remove(before), before);
        assert_eq!(remove(&set("{\n  \"a\": 1\n}", "/p hook x")), "{\n  \"a\": 1\n}");
        let twice =
            "{\"hooks\": {\"Submit\": [{\"hooks\": [{\"command\": \"/p hook a\"}, {\"command\": \"/p hook b\"}]}]}}";
        let once = "{\"hooks\": {\"Submit\": [{\"hooks\": [{\"command\": \"/p hook x\"}]}]}}";
        assert_eq!(set(twice, "/p hook x"), once);
        let fault = set_hook(JSON, "{\"hooks\": {\n\"Submit\": {}}}", "Submit", "x", 5, &is_ours).unwrap_err();
        assert_eq!(
            (fault.position.to_string().as_str(), fault.message.as_str()),
            ("2:1", "`hooks.Submit` must be a list, and is not")
        );
    }
}
