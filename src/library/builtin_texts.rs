//! The built-in prompts: the files in `prompts/`, embedded at compile time. Other prompts can
//! include them.

/// Expands names to pairs of name and text: `embedded_prompts!["plan"]` embeds `prompts/plan.md`.
macro_rules! embedded_prompts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../prompts/", $name, ".md")))),*]
    };
}

/// The name and text of each built-in prompt, sorted by name. A test compares this list with the
/// folder.
pub(crate) const BUILTIN_TEXTS: [(&str, &str); 14] = embedded_prompts![
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

/// Returns the text of the built-in prompt with this name.
pub(crate) fn builtin_text(name: &str) -> Option<&'static str> {
    let mut texts = BUILTIN_TEXTS.iter();
    let (_, text) = texts.find(|(builtin_name, _)| *builtin_name == name)?;
    Some(text)
}
