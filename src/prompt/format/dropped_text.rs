//! Finds values that YAML cuts: it reads ` #` as the start of a comment, `!word` as a tag, and
//! `&word` as an anchor.

use super::flow;
use super::frontmatter::parse_bool;
use super::quotes::QUOTES;
use super::value_line::{ValueLine, ValueLines};
use super::yaml::{self, Value};
use crate::prompt::diagnostic::Diagnostic;
use crate::wording::quoted;

/// The characters with which YAML begins a comment, a tag and an anchor.
const CUTTING: [char; 3] = ['#', '!', '&'];

/// Returns a warning for each value that YAML cuts, e.g. `title: Fix #12`, which it reads as `Fix`.
///
/// `yaml` is the frontmatter, and begins on `first_line` of the file. The values of keys and the
/// items of lists are checked, also those that have several lines.
pub(super) fn dropped_text_warnings(yaml: &str, first_line: usize) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if !yaml.contains(CUTTING) {
        return warnings; // saves the time for most files
    }
    let lines: Vec<&str> = yaml.lines().collect();
    let mut index = 0;
    while index < lines.len() {
        let Some(value) = ValueLines::read(&lines[index..]) else {
            index += 1;
            continue;
        };
        warnings.extend(dropped_text_warning(&value, first_line + index));
        index += value.lines.len();
    }
    warnings
}

/// Returns a warning if YAML drops a part of a value. `number` is that of its first line.
fn dropped_text_warning(value: &ValueLines<'_>, number: usize) -> Option<Diagnostic> {
    let text = value.value();
    let dropped = dropped_part(&text)?;
    let joined = value.joined();
    let value_line = ValueLine::parse(&joined)?;
    let reading = match dropped.chars().next() {
        Some('!') => "a tag",
        Some('&') => "an anchor",
        _ => "a comment",
    };
    let owner = match value_line.key {
        Some(key) => quoted(key),
        None => "the item".to_owned(),
    };
    let message = format!(
        "{} is not part of {owner}, because YAML reads it as {reading}",
        quoted(dropped)
    );
    let fix = format!("{} if it is text", value_line.fix());
    Some(Diagnostic::warning(
        Some(value.position(number)),
        message,
        fix,
    ))
}

/// Returns the first part of the text of a value that YAML drops: `#12` for `Fix #12`, and
/// `!important` for `!important look`. If it isn't valid YAML, nothing is dropped.
///
/// Ignores comments that can't be meant as text: those after a boolean, as in
/// `required: true # always`, and those with a blank after `#` in a list or after quotes.
fn dropped_part(text: &str) -> Option<&str> {
    if text.starts_with(['|', '>']) {
        return None; // a block scalar
    }
    let dropped = CutFinder::new(text).find()?;
    let value = parse_value(text)?;
    if is_bool(&value) || is_block_collection(&value, text) {
        return None;
    }
    Some(dropped)
}

fn is_bool(value: &Value) -> bool {
    match value {
        Value::Scalar { text, .. } => !text.is_empty() && parse_bool(text).is_some(),
        _ => false,
    }
}

/// Returns whether a value is a list or map without brackets, whose lines are values of their own.
/// `source` is the value as it is written.
fn is_block_collection(value: &Value, source: &str) -> bool {
    let is_collection = matches!(value, Value::List(_) | Value::Map(_));
    is_collection && !flow::is_flow(source)
}

/// Parses a value as YAML. Returns `None` if it is not valid.
fn parse_value(value: &str) -> Option<Value> {
    // The item of a list, because a comment alone would be an empty document.
    let item = format!("- {}", value.replace('\n', "\n  "));
    match yaml::parse_value(&item)? {
        Value::List(nodes) => Some(nodes.into_iter().next()?.value),
        _ => None,
    }
}

/// Searches a value for the first part that YAML drops.
struct CutFinder<'v> {
    /// What is not searched yet.
    rest: &'v str,
    /// Whether the value is a list or map in brackets.
    is_flow: bool,
    /// Whether the value has neither brackets nor quotes.
    is_plain: bool,
    /// Whether a blank, a line break or nothing comes before `rest`.
    is_after_blank: bool,
    /// The character before `rest`, without blanks and comments.
    last_visible: Option<char>,
}

impl<'v> CutFinder<'v> {
    fn new(value: &'v str) -> CutFinder<'v> {
        let is_flow = flow::is_flow(value);
        CutFinder {
            rest: value,
            is_flow,
            is_plain: !is_flow && !value.starts_with(QUOTES),
            is_after_blank: true,
            last_visible: None,
        }
    }

    fn find(mut self) -> Option<&'v str> {
        while let Some(character) = self.rest.chars().next() {
            match character {
                '#' if self.is_after_blank => {
                    let comment = self.rest.lines().next().unwrap_or_default();
                    if self.may_be_text(comment) {
                        return Some(comment);
                    }
                    self.skip_comment(comment);
                }
                '!' | '&' if self.is_item_start() => return Some(self.word()),
                '"' | '\'' if self.is_item_start() => {
                    self.advance(yaml_quoted_length(self.rest, character));
                }
                _ => self.advance(character.len_utf8()),
            }
        }
        None
    }

    /// Moves on to the end of a comment, which counts as a blank.
    fn skip_comment(&mut self, comment: &str) {
        self.rest = &self.rest[comment.len()..];
    }

    /// Moves on by a number of bytes.
    fn advance(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.is_after_blank = skipped.ends_with(char::is_whitespace);
        if !self.is_after_blank {
            self.last_visible = skipped.chars().next_back();
        }
    }

    /// Returns whether a comment may be meant as text. In a list, and after quotes, a blank after
    /// `#` says that it isn't.
    fn may_be_text(&self, comment: &str) -> bool {
        self.is_plain || !comment.starts_with("# ")
    }

    /// Returns whether the value, or an item of a list or map in brackets, begins here.
    fn is_item_start(&self) -> bool {
        match self.last_visible {
            None => true,
            Some('[' | '{' | ',') => self.is_flow,
            Some(':') => self.is_flow && self.is_after_blank,
            Some(_) => false,
        }
    }

    /// Returns the word that begins here. In a list or map, a comma or bracket ends it.
    fn word(&self) -> &'v str {
        let end = self.rest.find(|character: char| {
            character.is_whitespace() || (self.is_flow && ",]}".contains(character))
        });
        &self.rest[..end.unwrap_or(self.rest.len())]
    }
}

/// Returns the length of the quoted text with which `text` begins, as YAML reads it, or that of
/// `text` if no quote ends it.
fn yaml_quoted_length(text: &str, quote: char) -> usize {
    let mut characters = text.char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        let is_escape = match quote {
            '"' => character == '\\',
            _ => text[index..].starts_with("''"),
        };
        if is_escape {
            characters.next();
        } else if character == quote {
            return index + 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the warnings about a frontmatter that begins on line 2.
    #[track_caller]
    fn check(yaml: &str, want: &[&str]) {
        let warnings = dropped_text_warnings(yaml, 2);
        let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(texts, want, "{yaml:?}");
    }

    #[test]
    fn text_that_yaml_drops_is_reported_with_the_quoted_value() {
        check(
            "description: Post in the #deploys channel",
            &[
                "line 2, column 14: `#deploys channel` is not part of `description`, because YAML reads it as a comment; \
               write `description: \"Post in the #deploys channel\"` if it is text",
            ],
        );
        check(
            "a: b\ntitle: !important look #1",
            &[
                "line 3, column 8: `!important` is not part of `title`, because YAML reads it as a tag; \
               write `title: \"!important look #1\"` if it is text",
            ],
        );
        for (yaml, dropped, fix) in [
            (
                "title: Say \"hi\" to #12",
                "#12",
                "write `title: 'Say \"hi\" to #12'`",
            ),
            (
                "tags: [a]\narguments:\n  - name: \"x\"\n    default: #general",
                "#general",
                "write `default: \"#general\"`",
            ),
            (
                "description: !important",
                "!important",
                "write `description: \"!important\"`",
            ),
            ("title: &co works", "&co", "write `title: \"&co works\"`"),
            ("choices:\n- C\n- F #", "#", "write `- \"F #\"`"),
            ("choices:\n  - #a", "#a", "write `- \"#a\"`"),
            ("choices:\n  - -v #1", "#1", "write `- \"-v #1\"`"),
            ("a: |\n  x #1\nb: y #2", "#2", "write `b: \"y #2\"`"),
            ("a:\n  b c\n  d #2", "#2", "write `a: \"b c d #2\"`"),
            (
                "tags: [a, !b, c]",
                "!b",
                "write `tags: [\"a\", \"!b\", \"c\"]`",
            ),
            ("a: \"it\" #2", "#2", "write `a: '\"it\" #2'`"),
        ] {
            let warnings = dropped_text_warnings(yaml, 2);
            assert_eq!(warnings.len(), 1, "{yaml:?}: {warnings:?}");
            let text = warnings[0].text();
            assert!(
                text.starts_with(&format!("`{dropped}` is not part of")),
                "{text}"
            );
            assert!(text.ends_with(&format!("; {fix} if it is text")), "{text}");
        }
    }

    #[test]
    fn text_that_yaml_keeps_and_comments_that_cannot_be_text_are_not_reported() {
        for yaml in [
            "title: C# and a#b & c!",
            "# Post in the #deploys channel\n  # x",
            "title: 'Fix #12'\ntags: [a, b] # two\nb: \"x\" # y",
            "description: |\n  Fix #12\n\n  - see #13\n  key: x #14",
            "- >-\n  Fix #12",
            "description: \"Fix\n  the #12\"",
            "required: true # always",
            "arguments: # two\n- name: a",
            "title: # below\n  Text",
            "title: Review: the #12",
            "title: T\n--flag: x #1",
            "title: T\n  # one\ntags: [\n  a, # two\n  'it''s #3',\n  b!&c\n]",
            "title: \"say \\\"hi\\\" #1\"",
            "arguments:\n  # one\n  - name: a\n  # two\n",
        ] {
            check(yaml, &[]);
        }
    }
}
