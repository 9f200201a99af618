//! The texts of the built-in prompts: the files of `prompts/`, compiled in. Prompts may include
//! them.

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../prompts/", $name, ".md")))),*]
    };
}

/// Names and texts, sorted by name. A test compares the list with the folder.
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

/// Returns the text of the file of a built-in prompt.
pub(crate) fn builtin_text(name: &str) -> Option<&'static str> {
    BUILTIN_TEXTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
