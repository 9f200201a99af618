//! Paths on a terminal: relative in the working directory, and with `~` in the home directory. Elsewhere they are absolute.

use anyhow::Context;
use std::env;
use std::io::IsTerminal;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

/// A path as it can be in a config.
///
/// # Errors
/// It is not UTF-8.
pub(crate) fn path_text(path: &Path) -> anyhow::Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.with_context(|| {
        format!("`{}` is not UTF-8, so it cannot be in a config; give it another name", path.display())
    })
}

/// A text for standard output, in which paths are abbreviated if it is a terminal.
pub(crate) fn abbreviated(text: &str) -> String {
    abbreviated_if(std::io::stdout().is_terminal(), text)
}

pub(super) fn abbreviated_if(is_terminal: bool, text: &str) -> String {
    if !is_terminal {
        return text.to_owned();
    }
    let home = dirs::home_dir();
    // In the home directory itself, `~/notes.md` says more than `notes.md`.
    let working = env::current_dir().ok().filter(|folder| folder.parent().is_some() && Some(folder) != home.as_ref());
    let mut text = text.to_owned();
    for (folder, short) in [(working, String::new()), (home, format!("~{MAIN_SEPARATOR}"))] {
        if let Some(folder) = folder.filter(|folder| folder.parent().is_some()) {
            text = replaced(&text, &folder, &short);
        }
    }
    text
}

/// Replaces the beginning of each path below this folder.
fn replaced(text: &str, folder: &PathBuf, short: &str) -> String {
    let prefix = format!("{}{MAIN_SEPARATOR}", Path::new(folder).display());
    let mut shortened = String::with_capacity(text.len());
    let mut end = 0;
    for (at, _) in text.match_indices(&prefix) {
        // Inside a longer path, and after `=`, where a shell does not expand `~`, the path stays whole.
        let is_start = !text[..at].ends_with(|before: char| before.is_alphanumeric() || "/\\=-_.~".contains(before));
        // The folder itself, written with a separator at its end.
        let is_whole = text[at + prefix.len()..].starts_with(|after: char| !after.is_whitespace() && after != '`');
        if at >= end && is_start && is_whole {
            shortened += &text[end..at];
            shortened += short;
            end = at + prefix.len();
        }
    }
    shortened + &text[end..]
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shortened_where_it_begins_and_nowhere_else() {
        let folder = PathBuf::from("/home/me");
        for (text, want) in [
            ("/home/me/a.md:3:1: error", "~/a.md:3:1: error"),
            ("write `/home/me/a b.md` (/home/me/c)", "write `~/a b.md` (~/c)"),
            ("/srv/home/me/a.md", "/srv/home/me/a.md"),
            ("/home/me2/a.md", "/home/me2/a.md"),
            ("--prompts=/home/me/team", "--prompts=/home/me/team"),
            ("--prompts /home/me/team", "--prompts ~/team"),
            ("the folder `/home/me/`, /home/me", "the folder `/home/me/`, /home/me"),
            ("\u{1b}[1m/home/me/a\u{1b}[0m", "\u{1b}[1m/home/me/a\u{1b}[0m"),
        ] {
            assert_eq!(replaced(text, &folder, "~/"), want);
        }
        assert_eq!(replaced("/srv/site/a.md, /srv/site/b/c.md", &PathBuf::from("/srv/site"), ""), "a.md, b/c.md");
    }
}
