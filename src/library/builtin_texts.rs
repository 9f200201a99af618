//! The texts of the built-in prompts: the files of `prompts/`, compiled in. Prompts may include
//! them.

/// Makes a list of names and texts from names: `files!["plan"]` reads `prompts/plan.md`.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../prompts/", $name, ".md")))),*]
    };
}

/// The names and the texts of the built-in prompts, sorted by name. A test compares the list with
/// the folder.
pub(crate) const BUILTIN_TEXTS: [(&str, &str); 14] = files![
    "commit",
    "critique",
    "debug",
    "decide",
    "explain",
    "improve-prompt",
    "plan",
    "refactor",
    "research",
    "review",
    "rewrite",
    "save-prompt",
    "summarize",
    "test",
];

/// Returns the text of the file of a built-in prompt, if there is one of this name.
pub(crate) fn builtin_text(name: &str) -> Option<&'static str> {
    let mut texts = BUILTIN_TEXTS.iter();
    let (_, text) = texts.find(|(known, _)| *known == name)?;
    Some(text)
}
