//! Starts the user's editor and waits until it is closed.

use super::output::Reporter;
use crate::agents::Environment;
use crate::wording::in_backticks;
use anyhow::{Context, anyhow, ensure};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use tempfile::TempPath;

/// The variables that name the editor; the first that is set and not empty counts.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// What is started without those variables: the first that is installed. On Debian and its
/// derivatives, `editor` is the administrator's choice.
const DEFAULTS: &[&str] = if cfg!(windows) {
    &["notepad"]
} else {
    &["editor", "nano", "vi"]
};

/// What to do if a file is unchanged because the editor has ended before the user began to write.
pub(super) const WAIT: &str =
    "if your editor returns at once, give it an option such as `code --wait`";

/// An editor that has ended.
pub(super) struct Ended {
    editor: String,
    pub(super) status: ExitStatus,
}

impl Ended {
    /// Fails if the editor has failed: the file may or may not have been saved.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let Ended { editor, status } = self;
        ensure!(status.success(), "the editor {editor} failed ({status})");
        Ok(())
    }
}

/// Opens a file in the user's editor, and waits until the editor ends.
///
/// # Errors
/// No editor could be started.
pub(super) fn open(file: &Path, reporter: &Reporter) -> anyhow::Result<Ended> {
    for variable in VARIABLES {
        let command = env::var_os(variable).unwrap_or_default();
        if !command.to_string_lossy().trim().is_empty() {
            return open_with(&command, file, &format!("correct or unset {variable}"));
        }
    }
    open_default(file, reporter)
}

/// Opens a file with the command of an editor, and waits until that ends.
///
/// # Errors
/// It could not be started; `fix` says what to do.
pub(super) fn open_with(command: &OsStr, file: &Path, fix: &str) -> anyhow::Result<Ended> {
    let words = words(command);
    let editor = in_backticks(&words[0].to_string_lossy());
    let program =
        find_program(&words[0]).map_err(|error| anyhow!("the editor {editor} {error}; {fix}"))?;
    let mut command = Command::new(program);
    command
        .args(&words[1..])
        .arg(file)
        .stdin(editor_input())
        .stdout(editor_output());
    let status = wait_without_interrupts(&mut command)
        .with_context(|| format!("the editor {editor} cannot be started"))?;
    Ok(Ended { editor, status })
}

/// Runs a command to its end. Ctrl-C reaches all processes of the terminal; only the editor should
/// react to it, so this process ignores it meanwhile.
#[cfg(unix)]
fn wait_without_interrupts(command: &mut Command) -> io::Result<ExitStatus> {
    use signal_hook::consts::{SIGINT, SIGQUIT};
    let received = std::sync::Arc::default();
    let mut handlers = Vec::new();
    for signal in [SIGINT, SIGQUIT] {
        handlers.extend(signal_hook::flag::register(
            signal,
            std::sync::Arc::clone(&received),
        ));
    }
    let status = command.status();
    for handler in handlers {
        signal_hook::low_level::unregister(handler);
    }
    status
}

#[cfg(not(unix))]
fn wait_without_interrupts(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}

/// A text that the user has edited.
pub(super) struct EditedText {
    pub(super) text: String,
    /// The temporary file that has the text.
    pub(super) file: TempPath,
}

/// Lets the user change a text in their editor.
///
/// # Errors
/// The editor failed, or what it has saved is no text.
pub(super) fn edit_text(text: &str, reporter: &Reporter) -> anyhow::Result<EditedText> {
    let file = tempfile::Builder::new()
        .prefix("prompt-expander-")
        .suffix(".md")
        .tempfile()?
        .into_temp_path();
    fs::write(&file, text)?;
    open(&file, reporter)?.check()?;
    let text = fs::read_to_string(&file).context("what the editor has saved cannot be read")?;
    Ok(EditedText { text, file })
}

/// Returns the file of a program, also with a suffix that Windows adds: `code` is `code.cmd` there.
fn find_program(program: &OsStr) -> Result<PathBuf, String> {
    let environment: Environment = env::vars_os().collect();
    let working_folder = env::current_dir().unwrap_or_default();
    environment.find_program(&program.to_string_lossy(), &working_folder)
}

/// Returns whether the command of an editor is `prompt-expander compose`.
pub(super) fn is_compose(command: &OsStr) -> bool {
    let words = words(command);
    let program = Path::new(&words[0]).file_stem().unwrap_or_default();
    let is_this_program = program
        .to_string_lossy()
        .starts_with(env!("CARGO_PKG_NAME"));
    is_this_program && words.iter().any(|word| word == "compose")
}

/// Divides a command into the program and its arguments, as a shell does with quotes and
/// backslashes: `code --wait` → `code`, `--wait`.
///
/// The path of a file is one word, even with spaces, and so is a command that a shell would not
/// accept.
pub(super) fn words(command: &OsStr) -> Vec<OsString> {
    let whole = vec![command.to_owned()];
    let Some(text) = command.to_str() else {
        return whole;
    };
    if Path::new(text).is_file() {
        return whole;
    }
    let text = if cfg!(windows) {
        text.replace('\\', r"\\") // a backslash separates folders there
    } else {
        text.to_owned()
    };
    match shlex::split(&text) {
        Some(words) if !words.is_empty() => words.into_iter().map(OsString::from).collect(),
        _ => whole,
    }
}

/// Opens a file with the first of the [`DEFAULTS`] that is installed, and says which it was.
fn open_default(file: &Path, reporter: &Reporter) -> anyhow::Result<Ended> {
    let fix = "set EDITOR to your editor, for example `EDITOR='code --wait'`";
    ensure!(
        cfg!(windows) || has_terminal(),
        "an editor needs a terminal, and none is available; {fix}"
    );
    let editor = DEFAULTS
        .iter()
        .find(|editor| find_program(editor.as_ref()).is_ok())
        .with_context(|| format!("no editor was found; {fix}"))?;
    let ended = open_with(editor.as_ref(), file, fix)?;
    reporter.note(&format!(
        "opened in {}, because neither VISUAL nor EDITOR is set",
        ended.editor
    ));
    Ok(ended)
}

/// Returns whether an editor could show a text and read keys.
fn has_terminal() -> bool {
    io::stdout().is_terminal() && (io::stdin().is_terminal() || controlling_terminal().is_some())
}

/// Returns the standard input of an editor: the terminal, even if this program's own standard input
/// is a pipe.
fn editor_input() -> Stdio {
    match controlling_terminal() {
        Some(terminal) if !io::stdin().is_terminal() => terminal.into(),
        _ => Stdio::inherit(),
    }
}

/// Returns the standard output of an editor: the terminal, even if this program's own standard
/// output is a pipe for its result.
fn editor_output() -> Stdio {
    if io::stdout().is_terminal() {
        return Stdio::inherit();
    }
    let path = if cfg!(windows) { "CONOUT$" } else { "/dev/tty" };
    match fs::File::options().write(true).open(path) {
        Ok(terminal) => terminal.into(),
        Err(_) => io::stderr().into(),
    }
}

/// Opens the terminal in which this process was started, to read from it.
fn controlling_terminal() -> Option<fs::File> {
    fs::File::open(if cfg!(windows) { "CONIN$" } else { "/dev/tty" }).ok()
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
            (
                "emacs -nw --eval '(a b)'",
                &["emacs", "-nw", "--eval", "(a b)"],
            ),
            (program, &[program]),
            (&quoted, &[program, "-n"]),
            ("vi 'x", &["vi 'x"]),
        ] {
            assert_eq!(words(OsStr::new(value)), want, "{value}");
        }
    }
}
