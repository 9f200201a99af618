//! Prompt templates of pi: Markdown in which `$1` to `$9` are words of the text, and `$@` and `$ARGUMENTS` all of it.

use super::codex;
use super::frontmatter::Dialect;
use super::markdown;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::include::IncludeReader;
use crate::prompt::marks::NONE;
use crate::prompt::model::Prompt;
use crate::prompt::name::Name;
use crate::prompt::template::{ARGUMENTS, Escape, Mark, Names, Syntax};

const ALL: Mark = Mark { open: "$@", input: Some(""), ..ARGUMENTS };
const SYNTAX: Syntax =
    Syntax { marks: &[ALL, Mark { names: Names::Declared, ..ARGUMENTS }], fallback: None, escape: Escape::None };

/// Reads the text of a template.
///
/// # Errors
/// Those of the frontmatter.
pub(crate) fn parse(name: &Name, text: &str, _: Option<&mut dyn IncludeReader>) -> Result<Prompt, Diagnostic> {
    let mut source = markdown::read(Dialect::Other, text)?;
    source.frontmatter.arguments.clear(); // not a key of pi
    codex::declare_words(&mut source, &SYNTAX)?;
    Ok(Prompt { has_words: true, marks: &NONE, ..source.into_prompt(name, &SYNTAX) })
}

#[cfg(test)]
mod tests {
    use crate::prompt::format::testing::check;

    #[test]
    fn digits_are_words_and_an_at_sign_is_the_whole_text() {
        check(super::parse, "Create $1 with: $@", "Button \"a b\" c", "Create Button with: Button \"a b\" c");
        check(super::parse, "Fix $ARGUMENTS", "a  b", "Fix a  b");
        check(super::parse, "Look, $@x", "", "Look, x");
        check(super::parse, "Look.", "a", "Look.\n\na");
    }
}
