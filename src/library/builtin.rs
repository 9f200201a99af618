//! The prompts that ship inside the program: the files of `prompts/`, compiled in.

use crate::prompt::Prompt;

macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        /// Names and files, sorted by name. A test holds the list against the directory.
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../prompts/", $name, ".md")))),*];
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

/// The shipped prompt with exactly this name.
pub(super) fn get(name: &str) -> Option<Prompt> {
    FILES.iter().find(|(shipped, _)| *shipped == name).and_then(parse)
}

/// Every shipped prompt, sorted by name.
pub(super) fn all() -> impl Iterator<Item = Prompt> {
    FILES.iter().filter_map(parse)
}

/// Every name, sorted.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

fn parse(&(name, file): &(&str, &str)) -> Option<Prompt> {
    Prompt::parse(name, file.as_bytes()).ok() // a test reads every one of them
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
        assert_eq!(files, names().map(|name| format!("{name}.md")).collect::<Vec<_>>());
        for (name, file) in FILES {
            let prompt = Prompt::parse(*name, file.as_bytes()).unwrap();
            assert_eq!(prompt.warnings(), [], "{name}");
            assert!(file.contains("\ndescription: ") && file.contains("\ntitle: "), "{name}");
            assert!(file.ends_with("\n{{input}}\n"), "{name}");
        }
    }
}
