//! The built-in prompts: the files of `prompts/`, compiled in.

use super::{Entry, FileInfo, Layer, Listing, Location, Problem, Source, SourceView};
use crate::prompt::{Format, Name, Prompt};
use std::sync::{Arc, LazyLock, OnceLock};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../prompts/", $name, ".md")))),*]
    };
}

/// Names and texts, sorted by name. A test compares the list with the folder.
const FILES: [(&str, &str); 14] = files![
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

/// The names of those that tell a model how to edit prompts.
const FOR_EDITING: [&str; 2] = ["improve-prompt", "save-prompt"];

static PROMPTS: LazyLock<Vec<BuiltinPrompt>> = LazyLock::new(|| {
    let prompt = |(name, text)| Some(BuiltinPrompt { name: Name::new(name).ok()?, text, parsed: OnceLock::new() });
    FILES.into_iter().filter_map(prompt).collect()
});

/// Whether this is the name of a built-in prompt that there is only for those who may edit prompts.
pub(super) fn is_for_editing(name: &Name) -> bool {
    FOR_EDITING.contains(&name.as_str())
}

/// A source of built-in prompts: of those for everybody, or of those for who may edit prompts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Builtin {
    pub(super) is_for_editing: bool,
}

/// A file of `prompts/`.
#[derive(Debug)]
struct BuiltinPrompt {
    name: Name,
    text: &'static str,
    /// Set when it is first needed. Without it, each list would parse all of them, which takes longer than the rest of a
    /// list of a small library.
    parsed: OnceLock<(Arc<Prompt>, FileInfo)>,
}

impl Builtin {
    fn find(self, name: &Name) -> Option<&'static BuiltinPrompt> {
        PROMPTS.iter().find(|prompt| prompt.name == *name && is_for_editing(name) == self.is_for_editing)
    }
}

impl Source for Builtin {
    fn view(self: Arc<Self>) -> Arc<dyn SourceView> {
        self
    }

    fn is_for_editing(&self) -> bool {
        self.is_for_editing
    }
}

impl SourceView for Builtin {
    fn layer(&self) -> Layer {
        Layer::Builtin
    }

    fn get(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        self.find(name).map(|prompt| prompt.parsed().map(|(prompt, _)| Arc::clone(prompt)))
    }

    fn raw(&self, name: &Name) -> Option<Result<String, Problem>> {
        self.find(name).map(|prompt| Ok(prompt.text.to_owned()))
    }

    fn locate(&self, name: &Name) -> Option<Location> {
        self.find(name).map(|_| Location::Builtin)
    }

    fn list(&self) -> Listing<'_> {
        let entry = |prompt: &'static BuiltinPrompt| Entry { name: &prompt.name, view: self };
        let own = PROMPTS.iter().filter(|prompt| is_for_editing(&prompt.name) == self.is_for_editing);
        Listing { entries: own.map(entry).collect(), ..Listing::default() }
    }

    fn info(&self, name: &Name) -> Option<FileInfo> {
        self.find(name).map(|prompt| prompt.parsed().map_or_else(FileInfo::unreadable, |(_, info)| info.clone()))
    }
}

/// The text of the file of a built-in prompt.
pub(super) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

impl BuiltinPrompt {
    /// A test verifies that this does not fail for any of them.
    fn parsed(&self) -> Result<&(Arc<Prompt>, FileInfo), Problem> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed);
        }
        let bytes = self.text.as_bytes();
        let prompt = Format::Markdown.parse(self.name.clone(), bytes).map_err(|diagnostic| Problem {
            file: self.name.to_string(),
            path: self.name.as_str().into(),
            diagnostic,
        })?;
        let info = FileInfo::of(bytes, None, Ok(&prompt));
        Ok(self.parsed.get_or_init(|| (Arc::new(prompt), info)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_prompts_directory_is_built_in_and_has_no_warning() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
        let mut files: Vec<String> =
            std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.retain(|file| !file.ends_with(crate::prompt::TEST_SUFFIX));
        files.sort();
        assert_eq!(files, PROMPTS.iter().map(|prompt| format!("{}.md", prompt.name)).collect::<Vec<_>>());
        for prompt in &*PROMPTS {
            let (name, file) = (&prompt.name, prompt.text);
            assert_eq!(prompt.parsed().unwrap().0.warnings(), [], "{name}");
            assert!(file.contains("\ndescription: ") && file.contains("\ntitle: "), "{name}");
            assert!(file.ends_with("\n{{input}}\n"), "{name}");
        }
    }
}
