//! Starts the user's editor and waits until it is closed.

use super::interrupts::ignored_during;
use super::output;
use crate::wording::named;
use anyhow::{anyhow, bail};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind, IsTerminal};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The variables that name the editor; the first that is set and not empty counts.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// What is started without those variables: the first that is installed. On Debian and its derivatives, `editor` is the
/// administrator's choice.
const DEFAULTS: &[&str] = if cfg!(windows) { &["notepad"] } else { &["editor", "nano", "vi"] };

/// Suffixes to try after the name of a program, which Windows does not try by itself: `code` is `code.cmd` there.
const ENDINGS: &[&str] = if cfg!(windows) { &["", ".cmd", ".bat"] } else { &[""] };

/// Why a file may be unchanged when the editor ends.
pub(super) const WAIT: &str = "an editor with a window of its own needs an option that makes it wait until the file is \
                               closed, such as `code --wait`";

/// An editor that has ended.
pub(super) struct Ended {
    editor: String,
    status: ExitStatus,
}

impl Ended {
    /// `Err`: how it failed; the file may or may not have been saved.
    pub(super) fn check(&self) -> Result<(), String> {
        let Ended { editor, status } = self;
        if status.success() { Ok(()) } else { Err(format!("the editor {editor} failed ({status})")) }
    }
}

/// Opens a file in the user's editor, and waits until the editor ends.
///
/// # Errors
/// No editor could be started.
pub(super) fn open(file: &Path) -> anyhow::Result<Ended> {
    let chosen = VARIABLES.into_iter().find_map(|variable| {
        let value = std::env::var_os(variable)?;
        (!value.to_string_lossy().trim().is_empty()).then_some((variable, value))
    });
    match chosen {
        Some((variable, value)) => {
            let words = words(&value);
            let program = named(&words[0].to_string_lossy());
            let status = run(&words, file).map_err(|error| {
                anyhow!("{variable} names the editor {program}, which cannot be started: {error}; correct or unset {variable}")
            })?;
            Ok(Ended { editor: program, status })
        }
        None => default(file),
    }
}

/// Opens a file with the command of an editor, and waits until that ends.
///
/// # Errors
/// It could not be started.
pub(super) fn open_with(value: &OsStr, file: &Path) -> anyhow::Result<ExitStatus> {
    let words = words(value);
    let program = named(&words[0].to_string_lossy());
    run(&words, file).map_err(|error| anyhow!("the editor {program} cannot be started: {error}"))
}

/// Whether the command of an editor is `prompt-expander compose`.
pub(super) fn is_compose(value: &OsStr) -> bool {
    let words = words(value);
    let program = Path::new(&words[0]).file_stem().unwrap_or_default();
    program.to_string_lossy().starts_with(env!("CARGO_PKG_NAME")) && words.iter().any(|word| word == "compose")
}

/// The program and its arguments, split as by a shell, with quotes and backslashes. A value that is the path of a file is one word, even
/// with spaces, and so is one that a shell would not accept.
pub(super) fn words(value: &OsStr) -> Vec<OsString> {
    let text = value.to_str().filter(|_| !Path::new(value).is_file()).unwrap_or_default();
    // On Windows, a backslash separates folders.
    let text = if cfg!(windows) { text.replace('\\', r"\\") } else { text.to_owned() };
    match shlex::split(&text).filter(|words| !words.is_empty()) {
        Some(words) => words.into_iter().map(OsString::from).collect(),
        None => vec![value.to_owned()],
    }
}

/// Starts one of the [`DEFAULTS`], and prints which.
fn default(file: &Path) -> anyhow::Result<Ended> {
    let how = "set EDITOR to your editor, for example `EDITOR='code --wait'`";
    if cfg!(not(windows)) && !(io::stdout().is_terminal() && has_terminal()) {
        bail!("an editor needs a terminal, and none is available; {how}");
    }
    for editor in DEFAULTS {
        match run(&[editor.into()], file) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => bail!("the editor {} cannot be started: {error}; {how}", named(editor)),
            Ok(status) => {
                let editor = named(editor);
                output::note(&format!("opened in {editor}, because neither VISUAL nor EDITOR is set"));
                return Ok(Ended { editor, status });
            }
        }
    }
    bail!("no editor was found; {how}");
}

/// Runs an editor until it ends.
fn run(words: &[OsString], file: &Path) -> io::Result<ExitStatus> {
    let mut status = Err(ErrorKind::NotFound.into());
    for ending in ENDINGS {
        let mut program = words[0].clone();
        program.push(ending);
        let mut command = Command::new(program);
        command.args(&words[1..]).arg(file).stdin(terminal()).stdout(terminal_output());
        status = ignored_during(|| command.status());
        if !status.as_ref().is_err_and(|error: &io::Error| error.kind() == ErrorKind::NotFound) {
            break;
        }
    }
    status
}

/// The standard input of an editor: the terminal, even if this program's own standard input is a pipe.
fn terminal() -> Stdio {
    match controlling_terminal() {
        Some(terminal) if !io::stdin().is_terminal() => terminal.into(),
        _ => Stdio::inherit(),
    }
}

/// The standard output of an editor: this program's own is for its result.
fn terminal_output() -> Stdio {
    let path = if cfg!(windows) { "CONOUT$" } else { "/dev/tty" };
    match std::fs::File::options().write(true).open(path) {
        _ if io::stdout().is_terminal() => Stdio::inherit(),
        Ok(terminal) => terminal.into(),
        Err(_) => io::stderr().into(),
    }
}

fn has_terminal() -> bool {
    io::stdin().is_terminal() || controlling_terminal().is_some()
}

/// The terminal in which this process was started, even if its standard input is a pipe.
fn controlling_terminal() -> Option<std::fs::File> {
    std::fs::File::open(if cfg!(windows) { "CONIN$" } else { "/dev/tty" }).ok()
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
            ("vi", &["vi"][..]),
            (" code  --wait ", &["code", "--wait"]),
            ("emacs -nw --eval '(a b)'", &["emacs", "-nw", "--eval", "(a b)"]),
            (program, &[program]),
            (&quoted, &[program, "-n"]),
            ("vi 'x", &["vi 'x"]),
        ] {
            assert_eq!(words(OsStr::new(value)), want, "{value}");
        }
    }
}
