//! The source of the built-in prompts.

use crate::library::{About, BUILTIN_TEXTS, Found, Handle, Info, Layer, Listing, Location, Source};
use crate::prompt::{Diagnostic, Format, Name, Prompt};
use std::sync::{Arc, LazyLock, OnceLock};

/// The prompts that tell a model how to edit prompts. Only callers who may do so see them.
const FOR_EDITORS: [&str; 2] = ["improve-prompt", "save-prompt"];

/// All built-in prompts.
static PROMPTS: LazyLock<Vec<Arc<BuiltinPrompt>>> = LazyLock::new(|| {
    let mut prompts = Vec::new();
    for (name, text) in BUILTIN_TEXTS {
        if let Ok(name) = Name::new(name) {
            prompts.push(Arc::new(BuiltinPrompt {
                name,
                text,
                parsed: OnceLock::new(),
            }));
        }
    }
    prompts
});

/// The source of the built-in prompts for everybody, or of those for editors.
#[derive(Debug)]
pub(super) struct Builtin {
    about: About,
}

impl Builtin {
    /// Returns the source of the built-in prompts that every caller may see.
    pub(super) fn for_everybody() -> Builtin {
        Builtin {
            about: About::new(Layer::BUILTIN, Format::OWN, None),
        }
    }

    /// Returns the source of the built-in prompts that only callers who may edit prompts see.
    pub(super) fn for_editors() -> Builtin {
        let mut builtin = Builtin::for_everybody();
        builtin.about.for_editors = true;
        builtin
    }

    /// Returns whether this source provides a prompt, or the other one does.
    fn provides(&self, prompt: &BuiltinPrompt) -> bool {
        FOR_EDITORS.contains(&prompt.name.as_str()) == self.about.for_editors
    }

    /// Wraps a built-in prompt as the result of a search.
    fn found(&self, prompt: &Arc<BuiltinPrompt>) -> Found {
        Found::new(prompt.name.clone(), &self.about, Arc::clone(prompt))
    }
}

impl Source for Builtin {
    fn about(&self) -> &About {
        &self.about
    }

    /// Returns the built-in prompt with this name, if this source provides it.
    fn find(&self, name: &Name) -> Option<Found> {
        let mut prompts = PROMPTS.iter().filter(|prompt| self.provides(prompt));
        let prompt = prompts.find(|prompt| prompt.name == *name)?;
        Some(self.found(prompt))
    }

    /// Lists the built-in prompts that this source provides.
    fn list(&self) -> Listing {
        let prompts = PROMPTS.iter().filter(|prompt| self.provides(prompt));
        Listing {
            found: prompts.map(|prompt| self.found(prompt)).collect(),
            ..Listing::default()
        }
    }
}

/// A prompt from the folder `prompts/` of this program's repository.
#[derive(Debug)]
struct BuiltinPrompt {
    name: Name,
    text: &'static str,
    /// The parsed text, set at the first use. If every list parsed all built-in prompts, that would
    /// take longer than listing a small library.
    parsed: OnceLock<ParsedBuiltin>,
}

#[derive(Debug)]
struct ParsedBuiltin {
    prompt: Result<Arc<Prompt>, Diagnostic>,
    info: Info,
}

impl BuiltinPrompt {
    fn parsed(&self) -> &ParsedBuiltin {
        self.parsed.get_or_init(|| {
            let bytes = self.text.as_bytes();
            let prompt = Prompt::parse(self.name.clone(), bytes).map(Arc::new);
            let info = Info::new(bytes, None, prompt.as_deref().map_err(Clone::clone));
            ParsedBuiltin { prompt, info }
        })
    }
}

impl Handle for Arc<BuiltinPrompt> {
    fn location(&self) -> Location {
        Location {
            display: Layer::BUILTIN.name.to_owned(),
            file: None,
            is_editable: false,
        }
    }

    fn info(&self) -> Info {
        self.parsed().info.clone()
    }

    fn text(&self) -> Result<String, Diagnostic> {
        Ok(self.text.to_owned())
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        self.parsed().prompt.clone()
    }
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
