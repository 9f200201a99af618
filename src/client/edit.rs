//! Changes of a config's text, of which all else stays as it is: comments, order, blanks and line ends.
//!
//! The text must be one that [`Syntax::parse`] takes. A key that is there twice on the way to a change is an error: nobody can
//! say which of the two a client reads.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod json;
mod toml;

pub(super) use json::{remove_hook, set_hook};

use super::syntax::{Fault, Position, Syntax};

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
    match syntax {
        Syntax::Toml => toml::set(text, keys, entry, replaced),
        Syntax::Json { .. } => json::set(syntax, text, keys, entry, replaced),
    }
}

/// The text without what is at the end of these keys, and without the objects on the way to it that are empty then.
pub(super) fn remove(syntax: Syntax, text: &str, keys: &[String]) -> Result<String, Fault> {
    match syntax {
        Syntax::Toml => toml::remove(text, keys),
        Syntax::Json { .. } => json::remove(syntax, text, keys),
    }
}

impl Entry {
    /// All that a new entry holds.
    fn pairs_of_new(&self) -> Vec<(&'static str, Node)> {
        let own = self.own.iter().filter_map(|(key, node)| Some((*key, node.clone()?)));
        own.chain(self.of_new.iter().cloned()).collect()
    }
}

/// A fault at the end of these keys.
fn fault(syntax: Syntax, text: &str, keys: &[String], message: String) -> Fault {
    Fault { position: syntax.position(text, keys).unwrap_or(Position { line: 1, column: 1 }), message }
}

/// The fault that something else is at the end of these keys than what holds keys itself.
fn of_another_kind(syntax: Syntax, text: &str, keys: &[String]) -> Fault {
    let wanted = if syntax == Syntax::Toml { "a table" } else { "an object" };
    fault(syntax, text, keys, format!("`{}` must be {wanted}, and is not", keys.join(".")))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const JSON: Syntax = Syntax::Json { comments: true, trailing_commas: true };

    pub(super) fn entry(args: &[&str]) -> Entry {
        let list = |args: &[&str]| Node::List(args.iter().map(|arg| Node::Text((*arg).to_owned())).collect());
        Entry {
            own: vec![("command", Some(Node::Text("/p".to_owned()))), ("args", (!args.is_empty()).then(|| list(args)))],
            of_new: vec![("env", Node::Object(Vec::new()))],
        }
    }

    pub(super) fn keys(keys: &str) -> Vec<String> {
        keys.split('.').map(str::to_owned).collect()
    }

    /// Puts an entry in, and takes it out again.
    #[track_caller]
    pub(super) fn there_and_back(syntax: Syntax, before: &str, with: &str, after: &str) {
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
}
