//! The text of a new Markdown file: one to be filled in, or one around an existing body.

use super::Format;
use super::frontmatter::{self, Split};
use super::markdown_writer::scalar;
use crate::prompt::{Diagnostic, Name};

/// The body of a file that is to be filled in.
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

/// Why a body cannot become a draft.
#[derive(Debug)]
pub enum DraftError {
    /// It would not be a prompt.
    Invalid(Diagnostic),
    /// It has frontmatter, where a description would belong.
    HasFrontmatter,
}

/// Whether this is the body of [`draft`], apart from spaces and empty lines around it.
pub(in crate::prompt) fn is_template_body(body: &str) -> bool {
    body.trim() == BODY.trim()
}

/// Whether this is the description that [`draft`] writes if none is given.
pub(in crate::prompt) fn is_template_description(description: &str) -> bool {
    description == DESCRIPTION
}

/// The text of a file that is to be filled in.
pub fn draft(name: &Name, description: Option<&str>) -> String {
    let title = scalar(&title(name));
    let description = scalar(description.unwrap_or(DESCRIPTION));
    format!("---\ntitle: {title}\ndescription: {description}\n{ARGUMENTS}---\n{BODY}")
}

/// The text of a file with this body, which gets frontmatter if it has none. A title is left out if the body has a heading,
/// and a description if none is given, since the first paragraph is one.
///
/// # Errors
/// See [`DraftError`].
pub fn draft_around(name: &Name, body: &str, description: Option<&str>) -> Result<String, DraftError> {
    let body = body.strip_prefix('\u{feff}').unwrap_or(body);
    let prompt = Format::Markdown.parse(name.clone(), body.as_bytes()).map_err(DraftError::Invalid)?;
    let end = if body.ends_with('\n') { "" } else { "\n" };
    if has_frontmatter(body).map_err(DraftError::Invalid)? {
        return if description.is_some() { Err(DraftError::HasFrontmatter) } else { Ok(format!("{body}{end}")) };
    }
    let mut keys = String::new();
    if prompt.title.is_none() {
        keys += &format!("title: {}\n", scalar(&title(name)));
    }
    if let Some(description) = description {
        keys += &format!("description: {}\n", scalar(description));
    }
    Ok(if keys.is_empty() { format!("{body}{end}") } else { format!("---\n{keys}---\n{body}{end}") })
}

fn has_frontmatter(text: &str) -> Result<bool, Diagnostic> {
    match frontmatter::split(text)? {
        Split { yaml: Some(yaml), .. } => Ok(frontmatter::read(yaml, Format::Markdown, &mut Vec::new())?.is_some()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_body_gets_a_frontmatter_unless_it_has_one() {
        let check = |body: &str, description: Option<&str>, want: &str| {
            let name = Name::new("git/a-b").unwrap();
            assert_eq!(draft_around(&name, body, description).unwrap(), want, "{body:?}");
        };
        check("Do it.", None, "---\ntitle: A b\n---\nDo it.\n");
        check("# Do it\n", None, "# Do it\n");
        check("# Do it\n", Some("D"), "---\ndescription: D\n---\n# Do it\n");
        check("---\ntitle: T\n---\nDo it.\n", None, "---\ntitle: T\n---\nDo it.\n");
        // Rules are not frontmatter.
        check("------\r\nSome text\r\n", Some("D"), "---\ntitle: A b\ndescription: D\n---\n------\r\nSome text\r\n");
        check("---\nA heading\n---\n", Some("D"), "---\ndescription: D\n---\n---\nA heading\n---\n");
        let name = Name::new("a").unwrap();
        let refused = draft_around(&name, "---\ntitle: T\n---\nDo it.\n", Some("D"));
        assert!(matches!(refused, Err(DraftError::HasFrontmatter)));
        assert!(matches!(draft_around(&name, "---\ntitle: T\n", None), Err(DraftError::Invalid(_))));
    }

    #[test]
    fn a_template_is_one_until_its_body_is_changed() {
        let name = Name::new("a").unwrap();
        let text = draft(&name, None);
        let body = text.find(BODY).unwrap();
        for (text, is_template, warnings) in [
            (text.clone(), true, 2),
            (draft(&name, Some("Says it")), true, 1),
            (text.replace('\n', "\r\n") + "\r\n \r\n", true, 2),
            (text[body..].to_owned(), true, 1),
            (text.replace("step by step", "at once"), false, 1),
            (draft_around(&name, "Do it.", None).unwrap(), false, 0),
        ] {
            let prompt = Format::Markdown.parse(name.clone(), text.as_bytes()).unwrap();
            let (in_prompt, in_summary) = (prompt.is_template(), prompt.summary().is_template);
            assert_eq!((in_prompt, in_summary), (is_template, is_template), "{text}");
            let about_template =
                prompt.warnings().into_iter().filter(|warning| warning.message.contains("`new` wrote"));
            assert_eq!(about_template.count(), warnings, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_what_is_read(name in "[a-z][a-z0-9_.-]{0,9}", description in "\\PC{1,40}") {
            prop_assume!(!description.trim().is_empty()); // like none
            let name = Name::new(&name).unwrap();
            let prompt = Format::Markdown.parse(name.clone(), draft(&name, Some(&description)).as_bytes()).unwrap();
            prop_assert_eq!(prompt.title, Some(title(&name)));
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words(&prompt.description.unwrap_or_default()), words(&description));
            prop_assert!(prompt.lenient.is_empty(), "{:?}", prompt.lenient);
        }
    }
}
