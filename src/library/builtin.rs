//! The built-in prompts: the files of `prompts/`, compiled in.

use super::source::{About, Found, Handle, Info, Layer, Listing, Place, Source};
use crate::prompt::{Diagnostic, Format, Name, Prompt};
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

static PROMPTS: LazyLock<Vec<Arc<BuiltinPrompt>>> = LazyLock::new(|| {
    let prompt = |(name, text)| {
        Some(Arc::new(BuiltinPrompt {
            name: Name::new(name).ok()?,
            text,
            kept: OnceLock::new(),
        }))
    };
    FILES.into_iter().filter_map(prompt).collect()
});

/// A source of built-in prompts: of those for everybody, or of those for callers who may edit
/// prompts.
#[derive(Debug)]
pub(super) struct Builtin(About);

impl Builtin {
    pub(super) fn new(for_editors: bool) -> Builtin {
        Builtin(About {
            for_editors,
            ..About::new(Layer::BUILTIN, Format::OWN, None)
        })
    }

    fn all(&self) -> impl Iterator<Item = Found> {
        let is_own = |prompt: &&Arc<BuiltinPrompt>| {
            FOR_EDITING.contains(&prompt.name.as_str()) == self.0.for_editors
        };
        let found = |prompt: &Arc<BuiltinPrompt>| {
            Found::new(prompt.name.clone(), &self.0, Arc::clone(prompt))
        };
        PROMPTS.iter().filter(is_own).map(found)
    }
}

impl Source for Builtin {
    fn about(&self) -> &About {
        &self.0
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.all().find(|found| found.name == *name)
    }

    fn list(&self) -> Listing {
        Listing {
            found: self.all().collect(),
            ..Listing::default()
        }
    }
}

/// A file of `prompts/`.
#[derive(Debug)]
struct BuiltinPrompt {
    name: Name,
    text: &'static str,
    /// Set when it is first needed. Without it, each list would parse all of them, which takes
    /// longer than the rest of a list of a small library.
    kept: OnceLock<(Result<Arc<Prompt>, Diagnostic>, Info)>,
}

impl BuiltinPrompt {
    fn kept(&self) -> &(Result<Arc<Prompt>, Diagnostic>, Info) {
        self.kept.get_or_init(|| {
            let bytes = self.text.as_bytes();
            let prompt = Prompt::parse(self.name.clone(), bytes).map(Arc::new);
            let info = Info::of(bytes, None, prompt.as_deref().map_err(Clone::clone));
            (prompt, info)
        })
    }
}

impl Handle for Arc<BuiltinPrompt> {
    fn place(&self) -> Place {
        Place {
            shown: Layer::BUILTIN.name.to_owned(),
            file: None,
            is_editable: false,
        }
    }

    fn info(&self) -> Info {
        self.kept().1.clone()
    }

    fn text(&self) -> Result<String, Diagnostic> {
        Ok(self.text.to_owned())
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        self.kept().0.clone()
    }
}

/// The text of the file of a built-in prompt.
pub(super) fn text(name: &str) -> Option<&'static str> {
    FILES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_file_of_the_prompts_directory_is_built_in_and_has_no_warning() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("prompts");
        let mut files: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.retain(|file| !file.ends_with(crate::prompt::TEST_SUFFIX));
        files.sort();
        assert_eq!(
            files,
            PROMPTS
                .iter()
                .map(|prompt| format!("{}.md", prompt.name))
                .collect::<Vec<_>>()
        );
        for prompt in &*PROMPTS {
            let (name, file) = (&prompt.name, prompt.text);
            assert_eq!(prompt.prompt().unwrap().warnings(), [], "{name}");
            assert!(
                file.contains("\ndescription: ") && file.contains("\ntitle: "),
                "{name}"
            );
            assert!(file.ends_with("\n{{input}}\n"), "{name}");
        }
    }
}
