//! The text of a new prompt file: one to be filled in, or one around a body that there is already.

use super::frontmatter::{self, Split};
use super::{Diagnostic, Prompt};

/// What stands in a file that nobody has begun otherwise. A test holds that `check` finds nothing in it.
const BODY: &str = "\
Say here what the agent is to do with the text below, step by step, and what it is to answer with.

Text:
{{text}}
";

const DESCRIPTION: &str = "One line that says what this prompt is for; agents and lists show it";

const ARGUMENTS: &str = "\
arguments:
  - name: text
    description: What the prompt works on
    required: true
";

/// Why no file is made around a body.
#[derive(Debug)]
pub enum DraftError {
    /// It can be no prompt.
    NoPrompt(Diagnostic),
    /// It has a frontmatter, which a description would have to go into.
    HasFrontmatter,
}

/// The text of a file that is to be filled in.
pub fn draft(name: &str, description: Option<&str>) -> String {
    let title = scalar(&title(name));
    let description = scalar(description.unwrap_or(DESCRIPTION));
    format!("---\ntitle: {title}\ndescription: {description}\n{ARGUMENTS}---\n{BODY}")
}

/// The text of a file with this body: what has no frontmatter yet gets one. A title is left out where the body has a heading,
/// a description where none is given, since the first paragraph is one.
///
/// # Errors
/// There can be no such prompt, or not with this description.
pub fn draft_around(name: &str, body: &str, description: Option<&str>) -> Result<String, DraftError> {
    let body = body.strip_prefix('\u{feff}').unwrap_or(body);
    let prompt = Prompt::parse(name, body.as_bytes()).map_err(DraftError::NoPrompt)?;
    let end = if body.ends_with('\n') { "" } else { "\n" };
    if has_frontmatter(body).map_err(DraftError::NoPrompt)? {
        return if description.is_some() { Err(DraftError::HasFrontmatter) } else { Ok(format!("{body}{end}")) };
    }
    let mut keys = String::new();
    if prompt.title().is_none() {
        keys += &format!("title: {}\n", scalar(&title(name)));
    }
    if let Some(description) = description {
        keys += &format!("description: {}\n", scalar(description));
    }
    Ok(if keys.is_empty() { format!("{body}{end}") } else { format!("---\n{keys}---\n{body}{end}") })
}

fn has_frontmatter(text: &str) -> Result<bool, Diagnostic> {
    match frontmatter::split(text)? {
        Split { yaml: Some(yaml), .. } => Ok(frontmatter::read(yaml, &mut Vec::new())?.is_some()),
        Split { yaml: None, .. } => Ok(false),
    }
}

/// The last part of a name as a title: `git/commit-message` is "Commit message".
fn title(name: &str) -> String {
    let last = name.rsplit('/').next().unwrap_or(name);
    let words: Vec<&str> = last.split(['-', '_']).filter(|word| !word.is_empty()).collect();
    let mut letters = words.join(" ");
    if letters.is_empty() {
        letters = last.to_owned();
    }
    let mut letters = letters.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A text as a value in YAML: in quotes, unless it can only be read as a text.
fn scalar(text: &str) -> String {
    let is_word = |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-,;.'".contains(letter));
    let is_plain = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(' ')
        && text.contains(' ')
        && text.split(' ').all(is_word);
    let is_one_word = text.chars().all(|letter| letter.is_ascii_alphabetic())
        && !["", "y", "n", "yes", "no", "on", "off", "true", "false", "null"].contains(&text.to_lowercase().as_str());
    if is_plain || is_one_word {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            '\u{feff}' | '\u{2028}' | '\u{2029}' => quoted += &format!("\\u{:04x}", u32::from(character)),
            other if other.is_control() => quoted += &format!("\\u{:04x}", u32::from(other)),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_body_gets_a_frontmatter_unless_it_has_one() {
        let check = |body: &str, description: Option<&str>, want: &str| {
            assert_eq!(draft_around("git/a-b", body, description).unwrap(), want, "{body:?}");
        };
        check("Do it.", None, "---\ntitle: A b\n---\nDo it.\n");
        check("# Do it\n", None, "# Do it\n");
        check("# Do it\n", Some("D"), "---\ndescription: D\n---\n# Do it\n");
        check("---\ntitle: T\n---\nDo it.\n", None, "---\ntitle: T\n---\nDo it.\n");
        // Rules are none.
        check("------\r\nSome text\r\n", Some("D"), "---\ntitle: A b\ndescription: D\n---\n------\r\nSome text\r\n");
        check("---\nA heading\n---\n", Some("D"), "---\ndescription: D\n---\n---\nA heading\n---\n");
        let refused = draft_around("a", "---\ntitle: T\n---\nDo it.\n", Some("D"));
        assert!(matches!(refused, Err(DraftError::HasFrontmatter)));
        assert!(matches!(draft_around("a", "---\ntitle: T\n", None), Err(DraftError::NoPrompt(_))));
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(name in "[a-z][a-z0-9_.-]{0,9}", description in "\\PC{1,40}") {
            let prompt = Prompt::parse(name.as_str(), draft(&name, Some(&description)).as_bytes()).unwrap();
            prop_assert_eq!(prompt.title, Some(title(&name)));
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words(&prompt.description.unwrap_or_default()), words(&description));
            prop_assert!(prompt.slips.is_empty(), "{:?}", prompt.slips);
        }
    }
}
