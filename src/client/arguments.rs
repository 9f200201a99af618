//! Our own arguments, as they stand in a config.

/// What the arguments of our program say of prompts, and what else is among them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// What `--prompts` names, as it is written.
    pub folders: Vec<String>,
    /// The words that say which prompts there are: `--prompts` with its folders, and `--no-builtin`.
    pub of_library: Vec<String>,
    /// The others, such as a command, or `--prompts` without a folder.
    pub others: Vec<String>,
}

impl Arguments {
    /// Divides them, each kind in its order.
    pub fn of(words: &[String]) -> Arguments {
        let mut arguments = Arguments::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--prompts"
                && let Some(folder) = words.next()
            {
                arguments.folders.push(folder.clone());
                arguments.of_library.extend([word.clone(), folder.clone()]);
            } else if let Some(folder) = word.strip_prefix("--prompts=") {
                arguments.folders.push(folder.to_owned());
                arguments.of_library.push(word.clone());
            } else if word == "--no-builtin" {
                arguments.of_library.push(word.clone());
            } else {
                arguments.others.push(word.clone());
            }
        }
        arguments
    }

    /// Whether nothing but prompts is named: by folders, and by where they are looked for.
    pub fn is_only_of_prompts(&self) -> bool {
        self.others.iter().all(|word| word == "--project")
    }

    /// Whether this is the command `hook` with a client, and nothing else but what names prompts.
    pub fn is_hook(&self) -> bool {
        let others: Vec<&str> = self.others.iter().map(String::as_str).filter(|word| *word != "--project").collect();
        matches!(others.as_slice(), ["hook", client] if !client.starts_with('-'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_prompts_is_told_from_the_rest() {
        for (line, folders, of_library, others, is_only_of_prompts, is_hook) in [
            ("", "", "", "", true, false),
            ("--prompts /a --no-builtin", "/a", "--prompts /a --no-builtin", "", true, false),
            ("--project --prompts=/a --prompts ~/b", "/a ~/b", "--prompts=/a --prompts ~/b", "--project", true, false),
            ("--prompts", "", "", "--prompts", false, false),
            ("--prompts-dir /a", "", "", "--prompts-dir /a", false, false),
            ("--tap /t --no-builtin", "", "--no-builtin", "--tap /t", false, false),
            ("--prompts hook codex", "hook", "--prompts hook", "codex", false, false),
            ("--no-builtin hook codex --prompts /a", "/a", "--no-builtin --prompts /a", "hook codex", false, true),
            ("hook codex --project", "", "", "hook codex --project", false, true),
            ("hook codex --prompts", "", "", "hook codex --prompts", false, false),
            ("hook codex --log-file l", "", "", "hook codex --log-file l", false, false),
            ("hook --help", "", "", "hook --help", false, false),
            ("hook", "", "", "hook", false, false),
        ] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let arguments = Arguments::of(&words(line));
            let want = Arguments { folders: words(folders), of_library: words(of_library), others: words(others) };
            assert_eq!(arguments, want, "{line}");
            assert_eq!((arguments.is_only_of_prompts(), arguments.is_hook()), (is_only_of_prompts, is_hook), "{line}");
        }
    }
}
