//! Workflows: Markdown with a `description`, in which the program replaces nothing; what is typed after the name goes beside the text.

use super::frontmatter::Dialect;
use super::markdown;
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::include::IncludeReader;
use crate::prompt::marks::NONE;
use crate::prompt::model::Prompt;
use crate::prompt::name::Name;
use crate::prompt::template::Syntax;

/// Reads a workflow.
///
/// # Errors
/// Those of the frontmatter.
pub(crate) fn parse(name: &Name, text: &str, _: Option<&mut dyn IncludeReader>) -> Result<Prompt, Diagnostic> {
    let prompt = markdown::read(Dialect::Other, text)?.into_prompt(name, &Syntax::OWN);
    Ok(Prompt { marks: &NONE, ..prompt })
}

#[cfg(test)]
mod tests {
    use crate::prompt::format::testing::{check, parsed, warned};

    #[test]
    fn what_is_typed_follows_the_text() {
        let file =
            "---\ndescription: How to deploy\nauto_execution_mode: 3\n---\n// turbo\n1. Run `make`, see @README.md.";
        check(super::parse, file, "staging", "// turbo\n1. Run `make`, see @README.md.\n\nstaging");
        assert_eq!(parsed(super::parse, file).description.as_deref(), Some("How to deploy"));
        warned(super::parse, file, &[]);
    }
}
