//! The command of another program in an environment variable, such as `EDITOR` or `PAGER`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The program and its arguments; `None` if a quote is not closed.
///
/// Words are split as by a shell, with quotes and backslashes. A value that is the path of a file is one word, even with spaces.
pub(in crate::cli) fn words(value: &OsStr) -> Option<Vec<OsString>> {
    let Some(text) = value.to_str().filter(|_| !Path::new(value).is_file()) else {
        return Some(vec![value.to_owned()]);
    };
    // On Windows, a backslash separates folders.
    let text = if cfg!(windows) { text.replace('\\', r"\\") } else { text.to_owned() };
    let mut words: Vec<OsString> = shlex::split(&text)?.into_iter().map(OsString::from).collect();
    let program = Path::new(words.first()?);
    if let (Ok(below), Some(home)) = (program.strip_prefix("~"), dirs::home_dir()) {
        words[0] = home.join(below).into_os_string(); // the shell does not expand it in quotes
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_may_have_arguments_and_spaces_in_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("My Editor");
        std::fs::write(&program, "").unwrap();
        let program = program.to_str().unwrap();
        let quoted = format!("'{program}' -n");
        for (value, want) in [
            ("vi", Some(vec!["vi"])),
            (" code  --wait ", Some(vec!["code", "--wait"])),
            ("emacs -nw --eval '(a b)'", Some(vec!["emacs", "-nw", "--eval", "(a b)"])),
            (program, Some(vec![program])),
            (&quoted, Some(vec![program, "-n"])),
            ("vi 'x", None),
        ] {
            let want = want.map(|words| words.into_iter().map(OsString::from).collect());
            assert_eq!(words(OsStr::new(value)), want, "{value}");
        }
    }
}
