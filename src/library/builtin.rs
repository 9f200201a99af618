//! The prompts that ship inside the program: the files of `prompts/`, compiled in.

use super::{Listed, Problem, PromptFile};
use crate::prompt::Prompt;
use std::sync::{Arc, OnceLock};

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        /// Sorted by name. A test holds the list against the directory.
        static ALL: [Shipped; [$($name),*].len()] = [$(Shipped {
            name: $name,
            text: include_str!(concat!("../../prompts/", $name, ".md")),
            prompt: OnceLock::new(),
        }),*];
    };
}

shipped![
    "commit",
    "critique",
    "debug",
    "decide",
    "explain",
    "plan",
    "refactor",
    "research",
    "review",
    "rewrite",
    "summarize",
    "test",
];

/// A file of `prompts/`.
#[derive(Debug)]
pub(super) struct Shipped {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// Once it was asked for.
    prompt: OnceLock<Arc<Prompt>>,
}

/// The shipped prompt with exactly this name.
pub(super) fn get(name: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|shipped| shipped.name == name)
}

/// Every shipped prompt, sorted by name.
pub(super) fn all() -> &'static [Shipped] {
    &ALL
}

impl Shipped {
    /// Reads it; a test holds that this goes well for every one.
    pub(super) fn read(&self) -> Result<Arc<Prompt>, Problem> {
        if let Some(prompt) = self.prompt.get() {
            return Ok(Arc::clone(prompt));
        }
        let prompt = super::dir::parse(self.name, self.text.as_bytes()).map_err(|diagnostic| Problem {
            file: format!("{}.md", self.name),
            path: self.name.into(),
            diagnostic,
        })?;
        Ok(Arc::clone(self.prompt.get_or_init(|| Arc::new(prompt))))
    }

    pub(super) fn listed(&self) -> Result<Arc<Listed>, Problem> {
        let summary = self.read()?.summary();
        Ok(Arc::new(Listed { name: self.name.into(), summary, size: self.text.len(), modified: None }))
    }

    pub(super) fn file(&self) -> PromptFile {
        PromptFile { text: self.text.to_owned(), modified: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_prompts_directory_ships_and_is_without_a_warning() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
        let mut files: Vec<String> =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        assert_eq!(files, ALL.iter().map(|shipped| format!("{}.md", shipped.name)).collect::<Vec<_>>());
        for shipped in &ALL {
            let (name, file) = (shipped.name, shipped.text);
            let prompt = shipped.read().unwrap();
            assert_eq!(prompt.warnings(), [], "{name}");
            assert!(file.contains("\ndescription: ") && file.contains("\ntitle: "), "{name}");
            assert!(file.ends_with("\n{{input}}\n"), "{name}");
        }
    }
}
